-- A member's bounds (R67) are a row of key_bounds that the member's sessions, apps and keys share. Its budget counts
-- beside the budget that a key or an app has of its own.

-- The member's spending that includes the hold. Null if the member has no budget.
alter table holds add column member_spending_id bigint
  constraint holds_two_spendings check (member_spending_id <> key_spending_id);

create trigger key_bounds_insert_member_activity after insert on key_bounds for each row
when (starts_with(new.origin_id, 'member:')) execute function account_events_of_row(
  'member.limited', 'targets', 'budget_credits'
);
create trigger key_bounds_update_member_activity after update on key_bounds for each row
when (starts_with(new.origin_id, 'member:') and new is distinct from old) execute function account_events_of_row(
  'member.limited', 'targets', 'budget_credits'
);
