-- A VALIDATING order that was read has a reason too: what it waits for.
alter table orders
  drop constraint orders_reason_check,
  drop constraint orders_check1,
  add constraint orders_reason_check check (
    case status
      when 'INACTIVE' then coalesce(reason, '') in ('INSUFFICIENT_ALLOWANCE', 'INSUFFICIENT_BALANCE')
      when 'VALIDATING' then coalesce(reason, 'FUNDS') in ('FUNDS', 'SIGNATURE', 'TAKING_TOKEN')
      else reason is null
    end);
