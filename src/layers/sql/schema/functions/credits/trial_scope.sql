-- Scope of a trial's allowance. A digest, so that the grant outlives the account without storing the address.
create or replace function trial_scope(address text) returns text language sql immutable as $$
  select 'trial:' || encode(sha256(convert_to(address, 'UTF8')), 'hex')
$$;
