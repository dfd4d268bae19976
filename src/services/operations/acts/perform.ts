import { Context, Effect } from "effect"
import type { InvalidRequest, LastOwner, NotFound, RateLimited } from "../../../domain/errors.ts"
import type { CommandFailed } from "../../../domain/OperatorError.ts"
import type { Act, ActName, ActOf } from "../../../domain/operations/acts.ts"
import { CurrentRequester } from "../../../domain/requests/CurrentRequester.ts"
import { AccountRemoval } from "../../accounts/AccountRemoval.ts"
import { type AccountError, Accounts } from "../../accounts/Accounts.ts"
import { Emails } from "../../accounts/Emails.ts"
import { Invitations } from "../../accounts/Invitations.ts"
import { Members } from "../../accounts/Members.ts"
import { People, type PersonError } from "../../accounts/People.ts"
import { QueryLog } from "../../charging/QueryLog.ts"
import { type CorrectionImpossible, type GrantDiffers, Ledger } from "../../credits/Ledger.ts"
import { DocumentIndex } from "../../index/DocumentIndex.ts"
import { KeyStore } from "../../keys/KeyStore.ts"
import { checkProviders, checksJson } from "../../providers/checkProviders.ts"
import { Limits } from "../../providers/Limits.ts"
import { ProviderPauses } from "../../providers/ProviderPauses.ts"
import { ProviderStates } from "../../providers/ProviderStates.ts"
import { EventBooks } from "../../webhooks/EventBooks.ts"
import { Audit } from "../Audit.ts"
import type { CurrentOperator } from "../CurrentOperator.ts"
import { Replicas } from "../Replicas.ts"
import { accountJson } from "../views/accountJson.ts"
import { pauseJson } from "../views/engineJson.ts"
import { keyJson } from "../views/keyJson.ts"
import { memberJson } from "../views/memberJson.ts"
import * as accounts from "./accounts.ts"
import * as credits from "./credits.ts"
import * as deployment from "./deployment.ts"
import * as keys from "./keys.ts"
import * as members from "./members.ts"
import * as people from "./people.ts"
import * as providers from "./providers.ts"
import * as webhooks from "./webhooks.ts"

const used = [
  AccountRemoval,
  Accounts,
  Audit,
  DocumentIndex,
  Emails,
  EventBooks,
  Invitations,
  KeyStore,
  Ledger,
  Limits,
  Members,
  People,
  ProviderPauses,
  ProviderStates,
  QueryLog,
  Replicas
] as const

export type ActServices = Context.Service.Identifier<(typeof used)[number]>

export const actServices = Context.pick(...used)

/** The last five are for the operator: their messages say what to do. */
export type ActError =
  | InvalidRequest
  | LastOwner
  | NotFound
  | RateLimited
  | AccountError
  | CommandFailed
  | CorrectionImpossible
  | GrantDiffers
  | PersonError

type Performed = Effect.Effect<Readonly<Record<string, unknown>>, ActError, ActServices | CurrentOperator>

/** Each act with the result that its command prints with `--json`. */
const table: { readonly [Name in ActName]: (act: ActOf<Name>) => Performed } = {
  "account suspend": (act) => Effect.map(accounts.suspend(act), accountJson),
  "account resume": (act) => Effect.map(accounts.resume(act), accountJson),
  "account adjust": (act) => credits.adjust(act),
  "account grant": credits.grant,
  "account set-plan": (act) => Effect.map(accounts.setPlan(act), accountJson),
  "account set-email": (act) => Effect.map(accounts.setEmail(act), accountJson),
  "account delete": accounts.remove,
  "sessions end": accounts.endSessions,
  "person reset-factors": people.resetFactors,
  "person resend-email": people.resendEmail,
  "key revoke": (act) => Effect.map(keys.revoke(act), keyJson),
  "member role": (act) => Effect.map(members.setRole(act), memberJson),
  "member remove": (act) => Effect.map(members.removeMember(act), memberJson),
  "webhooks pause": webhooks.pause,
  "webhooks resume": webhooks.resume,
  "webhooks drop": webhooks.drop,
  "replica forget": deployment.forgetReplica,
  "providers check": () => Effect.map(checkProviders, checksJson),
  "providers pause": (act) => Effect.map(providers.pauseProvider(act), pauseJson),
  "providers resume": (act) =>
    Effect.map(providers.resumeProvider(act), (ended) => ({ resumed: ended.map(pauseJson) })),
  "ledger verify": credits.verify,
  "index remove": deployment.removeDocuments
}

const run = <Name extends ActName>(act: ActOf<Name>): Performed => table[act.command](act)

/** Accounts show what an act does to them as the operator's, not as that of a person (R68). */
export const perform = (act: Act): Performed => Effect.provideService(run(act), CurrentRequester, { actor: "operator" })
