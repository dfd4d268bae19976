-- Adds credits to the pack balance, uses them to settle what the account owes (R40), and returns the balance. Returns
-- null if the cause was already applied. Purchased and granted credits create an event (R53). The caller holds the lock
-- on the wallet.
create or replace function ledger_credit(account text, credits bigint, entry_kind text, why text, credit_cause text)
returns bigint language plpgsql as $$
declare
  settled bigint;
  after bigint;
begin
  select least(w.owed, credits), w.balance + credits - least(w.owed, credits) into settled, after
    from wallets w where w.account_id = account;
  insert into ledger_entries (account_id, kind, quota_credits, balance_credits, cause, reason, balance_after)
    values (account, entry_kind, 0, credits, credit_cause, why, after)
    on conflict (cause) do nothing;
  if not found then
    return null;
  end if;
  if settled > 0 then
    insert into ledger_entries (account_id, kind, quota_credits, balance_credits, owed_credits, cause)
      values (account, 'owed', 0, -settled, -settled, 'owed:' || credit_cause);
  end if;
  update wallets w set balance = after, owed = w.owed - settled, fillings = w.fillings + 1 where w.account_id = account;
  if entry_kind in ('grant', 'pack') then
    perform event_add(account, 'pack.granted', 'pack.granted:' || credit_cause,
      jsonb_build_object('credits', credits, 'balance', after));
  end if;
  return after;
end $$;
