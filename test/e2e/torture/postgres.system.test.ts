import { holds } from "../../support/holds.ts"
import { describeWithServers } from "../../support/PostgresServer.ts"
import { postgres } from "../../torture/scenarios/postgres.ts"

describeWithServers("the whole service, with a Postgres server of its own that is broken on purpose", () =>
  holds(postgres, 4)
)
