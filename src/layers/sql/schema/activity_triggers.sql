-- Each act that customers see in their account's activity (R68). `event_add` records keys, plans, packs and payments.

create trigger key_bounds_insert_activity after insert on key_bounds for each row
execute function account_events_of_row(
  'key.limited', 'expires_at', 'targets', 'networks', 'budget_credits', 'budget_period'
);
create trigger key_bounds_update_activity after update on key_bounds for each row when (new is distinct from old)
execute function account_events_of_row(
  'key.limited', 'expires_at', 'targets', 'networks', 'budget_credits', 'budget_period'
);

create trigger webhook_endpoints_insert_activity after insert on webhook_endpoints for each row
execute function account_events_of_row('webhook.created', 'url', 'types');
create trigger webhook_endpoints_update_activity after update on webhook_endpoints for each row
when ((new.url, new.types, new.disabled_for) is distinct from (old.url, old.types, old.disabled_for))
execute function account_events_of_row('webhook.changed', 'url', 'types', 'disabled_for');
create trigger webhook_endpoints_secret_activity after update of old_secret_until on webhook_endpoints for each row
when (new.old_secret_until is distinct from old.old_secret_until)
execute function account_events_of_row('webhook.secret_rotated');
create trigger webhook_endpoints_delete_activity after delete on webhook_endpoints for each row
execute function account_events_of_row('webhook.deleted', 'url', 'types');

create trigger members_invite_activity after insert on members for each row when (new.user_id is null)
execute function account_events_of_row('member.invited', 'role');
create trigger members_insert_activity after insert on members for each row when (new.user_id is not null)
execute function account_events_of_row('member.joined', 'role');
create trigger members_join_activity after update of user_id on members for each row
when (old.user_id is null and new.user_id is not null) execute function account_events_of_row('member.joined');
create trigger members_role_activity after update of role on members for each row when (new.role <> old.role)
execute function account_events_of_row('member.role_changed', 'role');
create trigger members_delete_activity after delete on members for each row
execute function account_events_of_row('member.removed', 'role');

create trigger accounts_email_activity after update of email on accounts for each row when (new.email <> old.email)
execute function account_events_of_row('account.email_changed', 'email');
create trigger accounts_next_plan_activity after update of next_plan on accounts for each row
when (new.next_plan is distinct from old.next_plan and new.plan = old.plan)
execute function account_events_of_row('plan.scheduled', 'next_plan', 'next_plan_at');

create trigger auth_consents_insert_activity after insert on auth_consents for each row
execute function account_events_of_row('app.connected', 'client_id');
create trigger auth_consents_delete_activity after delete on auth_consents for each row
execute function account_events_of_row('app.disconnected', 'client_id');

create trigger auth_sessions_insert_activity after insert on auth_sessions for each row
execute function account_events_of_persons_row('person.signed_in', 'user_id');
-- Expiry is not an act.
create trigger auth_sessions_delete_activity after delete on auth_sessions for each row
when (current_requester() <> '{}') execute function account_events_of_persons_row('person.signed_out', 'user_id');
create trigger auth_identities_insert_activity after insert on auth_identities for each row
execute function account_events_of_persons_row('person.identity_added', 'user_id');
create trigger auth_identities_activity after update of password on auth_identities for each row
when (new.password is distinct from old.password)
execute function account_events_of_persons_row('person.password_changed', 'user_id');
create trigger auth_users_email_activity after update of email on auth_users for each row when (new.email <> old.email)
execute function account_events_of_persons_row('person.email_changed', 'id');

create trigger audit_entries_activity after insert on audit_entries for each row when (new.subject is not null)
execute function account_events_of_command();
