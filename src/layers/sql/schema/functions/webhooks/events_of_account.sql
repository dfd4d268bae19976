create or replace function events_of_plan() returns trigger language plpgsql as $$
begin
  perform event_add(new.id, 'plan.changed', 'plan.changed:' || gen_random_uuid(),
    jsonb_build_object('plan', new.plan, 'previous_plan', old.plan));
  return null;
end $$;

-- Writes an event when a period follows an ended period. A period started by a plan change is not a reset.
create or replace function events_of_period() returns trigger language plpgsql as $$
declare
  period record;
begin
  select l.id, l.quota, l.used, l.period_start, l.period_end into period
    from allowances l join allowances earlier on earlier.id = old.allowance_id
    where l.id = new.allowance_id and earlier.period_end <= l.period_start;
  if found then
    perform event_add(new.id, 'quota.reset', 'quota.reset:' || period.id,
      jsonb_build_object('plan', new.plan, 'quota', period.quota, 'used', period.used,
        'period_start', event_time(period.period_start), 'resets_at', event_time(period.period_end)));
  end if;
  return null;
end $$;

-- Writes an event for each unpaid renewal, once.
create or replace function events_of_subscription() returns trigger language plpgsql as $$
begin
  perform event_add(new.account_id, 'payment.past_due',
    'payment.past_due:' || new.id || ':' || extract(epoch from coalesce(new.past_due_at, new.modified_at)),
    jsonb_build_object('plan', new.plan, 'past_due_since', event_time(coalesce(new.past_due_at, new.modified_at)),
      'current_period_end', event_time(new.period_end)));
  return null;
end $$;
