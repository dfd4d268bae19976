-- A person has one subject of an issuer (R66): another subject with the person's address is someone else. The subject is
-- "ISSUER SUBJECT".
create unique index auth_identities_oidc on auth_identities (user_id, split_part(subject, ' ', 1)) where provider = 'oidc';
