/** The server on which tests create their databases. */
export const serverUrl = process.env.QUARRY_TEST_DATABASE_URL ?? "postgres://root@127.0.0.1:5432/postgres"
