-- Triggers write most events, so that no code path is missed. A trigger's condition is checked before its function is
-- called: a search that crosses no threshold costs only a comparison.

create trigger allowances_events after update of used, quota on allowances for each row
when (new.used >= new.events_at or new.quota is distinct from old.quota) execute function events_of_allowance();

create trigger wallets_events after update of balance on wallets for each row
when (new.balance < old.balance and (new.balance = 0 or new.balance < new.low_balance))
execute function events_of_wallet();

create trigger accounts_plan_events after update of plan on accounts for each row
when (new.plan <> old.plan and new.deleted_at is null) execute function events_of_plan();

create trigger accounts_period_events after update of allowance_id on accounts for each row
when (new.allowance_id <> old.allowance_id and new.deleted_at is null) execute function events_of_period();

create trigger billing_subscriptions_insert_events after insert on billing_subscriptions for each row
when (new.status = 'past_due') execute function events_of_subscription();

create trigger billing_subscriptions_update_events after update of status on billing_subscriptions for each row
when (new.status = 'past_due' and old.status <> 'past_due') execute function events_of_subscription();

create trigger api_keys_insert_events after insert on api_keys for each row execute function events_of_new_key();

create constraint trigger api_keys_revoke_events after update of revoked_at on api_keys
deferrable initially deferred for each row
when (old.revoked_at is null and new.revoked_at is not null) execute function events_of_revoked_key();
