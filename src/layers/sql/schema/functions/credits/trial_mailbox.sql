-- The mailbox of an address, which gets one trial (R32): without the +tag, and without dots if the provider ignores
-- them. Must match mailboxOf in domain/accounts/emailAddress.ts.
create or replace function trial_mailbox(address text) returns text language plpgsql immutable as $$
declare
  split integer := length(address) - strpos(reverse(address), '@');
  host text;
  name text;
begin
  if strpos(address, '@') = 0 then
    return address;
  end if;
  host := substr(address, split + 2);
  name := coalesce(nullif(split_part(left(address, split), '+', 1), ''), left(address, split));
  if host = 'googlemail.com' then
    host := 'gmail.com';
  end if;
  if host = 'gmail.com' then
    name := coalesce(nullif(replace(name, '.', ''), ''), name);
  end if;
  return name || '@' || host;
end $$;
