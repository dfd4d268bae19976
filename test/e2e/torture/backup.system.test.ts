import { holds } from "../../support/holds.ts"
import { describeWithServers } from "../../support/PostgresServer.ts"
import { backups } from "../../torture/scenarios/backup.ts"

describeWithServers("the whole service, backed up under traffic and restored on another server", () =>
  holds(backups, 1)
)
