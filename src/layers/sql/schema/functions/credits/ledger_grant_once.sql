-- Grants pack credits. Repeating the cause with the same arguments grants nothing and returns the first result
-- (`granted`). Other arguments return `different`. An unknown account returns `unknown`.
create or replace function ledger_grant_once(account text, credits bigint, why text, grant_cause text)
returns table (status text, balance bigint) language plpgsql set lock_timeout = '2s' as $$
declare
  earlier ledger_entries;
  after bigint;
begin
  perform from wallets w join accounts a on a.id = w.account_id
    where w.account_id = account and a.deleted_at is null for update of w;
  if not found then
    return query select 'unknown', null::bigint;
    return;
  end if;
  after := ledger_credit(account, credits, 'grant', why, grant_cause);
  if after is not null then
    return query select 'granted', after;
    return;
  end if;
  select * into earlier from ledger_entries e where e.cause = grant_cause;
  if earlier.account_id = account and earlier.balance_credits = credits and earlier.reason is not distinct from why then
    return query select 'granted', earlier.balance_after;
  else
    return query select 'different', null::bigint;
  end if;
end $$;
