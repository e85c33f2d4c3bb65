-- Where the order leaves the book by whose record alone readers know a maker's funds, another one tells them.
alter table funding add column teller bytea check (octet_length(teller) = 32);
