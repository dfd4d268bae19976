-- The scope of a trial's allowance: a digest, so that the grant outlives the account without keeping the address.
create or replace function trial_scope(address text) returns text language sql immutable as $$
  select 'trial:' || encode(sha256(convert_to(address, 'UTF8')), 'hex')
$$;
