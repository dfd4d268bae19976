-- Returns the trial's allowance for an account, creating it if necessary (R32). A mailbox has one grant. While another
-- active account uses it, this account gets a separate allowance with the quota `own`. They cannot share one, because
-- the ledger locks per account and both could spend its last credit. `granted` is the quota of a new grant. With
-- `is_reset` an existing grant gets it too, but never less than its used credits.
--
-- Serializes accounts with the same mailbox until they commit. Callers already hold the lock on the account's wallet.
create or replace function trial_enter(account text, address text, granted bigint, is_reset boolean, own bigint)
returns bigint language plpgsql as $$
declare
  mailbox_scope text := trial_scope(trial_mailbox(address));
  is_taken boolean;
  entered bigint;
begin
  perform pg_advisory_xact_lock(hashtextextended(mailbox_scope, 0));
  is_taken := exists (
    select from allowances l join accounts a on a.allowance_id = l.id
    where l.scope = mailbox_scope and a.id <> account and a.deleted_at is null
  );
  insert into allowances as l (scope, period_start, quota)
    values (case when is_taken then mailbox_scope || ':' || account else mailbox_scope end, to_timestamp(0),
      case when is_taken then own else granted end)
    on conflict (scope, period_start) do update
      set quota = case when is_reset then greatest(excluded.quota, l.used) else l.quota end
    returning id into entered;
  return entered;
end $$;
