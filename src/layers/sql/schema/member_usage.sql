-- The person whose session, app or key searched (R67). Null for the others, and before this migration.
alter table queries add column person_id text;

-- Hours are also counted by member: name is the person's id. Those that were counted before lack these rows.
alter table usage_hours drop constraint usage_hours_counted_by_check;
alter table usage_hours add constraint usage_hours_counted_by_check check (counted_by in ('target', 'key', 'member'));
