import { backups } from "../../../torture/scenarios/backup.ts"
import { describeWithServers } from "../../support/servers/PostgresServer.ts"
import { holds } from "../../support/stores/holds.ts"

describeWithServers("the whole service, backed up under traffic and restored on another server", () =>
  holds(backups, 1)
)
