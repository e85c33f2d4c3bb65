-- The signature of an order that its maker's contract accepted (EIP-1271): the chain-watcher asks the contract again and again.
-- Null: the maker's key signed, and nothing is to be asked.
alter table orders add column wallet_signature bytea check (octet_length(wallet_signature) <= 1024);
