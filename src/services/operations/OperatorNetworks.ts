import { Context } from "effect"
import type { IpNetwork } from "effect/net"

/** The networks from which the operator's console can be used. Undefined for all. */
export const OperatorNetworks = Context.Reference<ReadonlyArray<IpNetwork.IpNetwork> | undefined>(
  "quarry/references/OperatorNetworks",
  { defaultValue: () => undefined }
)
