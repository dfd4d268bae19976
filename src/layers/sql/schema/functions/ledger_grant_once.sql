-- Adds pack credits. The same cause with the same arguments again adds nothing and gets the first answer (`granted`);
-- with other arguments it is `different`. `unknown`: there is no such account.
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
  insert into ledger_entries (account_id, kind, quota_credits, balance_credits, cause, reason, balance_after)
    select account, 'grant', 0, credits, grant_cause, why, w.balance + credits from wallets w where w.account_id = account
    on conflict (cause) do nothing
    returning balance_after into after;
  if after is not null then
    update wallets w set balance = after where w.account_id = account;
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
