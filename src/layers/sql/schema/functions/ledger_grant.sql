-- Adds pack credits and answers the new balance; null for an unknown account. The same cause twice adds once.
create or replace function ledger_grant(account text, credits bigint, why text, grant_cause text)
returns bigint language plpgsql set lock_timeout = '2s' as $$
begin
  perform from wallets w join accounts a on a.id = w.account_id
    where w.account_id = account and a.deleted_at is null for update of w;
  if not found then
    return null;
  end if;
  perform ledger_credit(account, credits, 'grant', why, grant_cause);
  return (select balance from wallets where account_id = account);
end $$;
