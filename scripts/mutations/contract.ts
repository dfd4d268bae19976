import type { TestedMutation } from "../../simulation/mutations/Mutation.ts"

const inFile = (
  file: string,
  test: string,
  edits: ReadonlyArray<readonly [name: string, from: string, to: string]>
): ReadonlyArray<TestedMutation> => edits.map(([name, from, to]) => ({ name, file, from, to, test }))

const credits = [
  ...inFile("src/domain/credits/Allowance.ts", "test/domain/credits/Allowance.test.ts", [
    ["the last pack credit cannot be spent", "fromBalance <= allowance.balance ?", "fromBalance < allowance.balance ?"],
    [
      "pack credits are left out of what is available",
      "remaining(allowance) + allowance.balance,",
      "remaining(allowance),"
    ]
  ]),
  ...inFile("src/domain/accounts/Account.ts", "test/domain/accounts/Account.test.ts", [
    ["a change of plan is a moment late", "next.at > now", "next.at >= now"]
  ]),
  ...inFile("src/domain/credits/Plan.ts", "test/domain/credits/Plan.test.ts", [
    ["a cycle ends a moment late", "renewal(start, months) <= nowMillis", "renewal(start, months) < nowMillis"],
    [
      "a calendar month lasts two",
      "end: DateTime.toEpochMillis(DateTime.add(start, { months: 1 }))",
      "end: DateTime.toEpochMillis(DateTime.add(start, { months: 2 }))"
    ],
    ["the trial has one search too many", 'name: "Trial", quota: 100,', 'name: "Trial", quota: 101,']
  ]),
  ...inFile("src/domain/billing/Purchase.ts", "test/domain/billing/Purchase.test.ts", [
    ["a pack is granted twice", "if (before > 0) return before", "if (before < 0) return before"],
    ["a lost dispute takes nothing back", "order.isDisputeLost || order.status", "order.status"],
    ["the same plan is an upgrade", "rank[to] > rank[from]", "rank[to] >= rank[from]"],
    ["an unpaid pack is granted", '"pack" && status === "paid"', '"pack" && status !== "void"']
  ]),
  ...inFile("src/domain/billing/Subscription.ts", "test/domain/billing/Subscription.test.ts", [
    [
      "a canceled subscription ends at once",
      "changes.push({ plan: undefined, at: period.end })",
      "changes.push({ plan: undefined, at: period.start })"
    ]
  ]),
  ...inFile("src/services/charging/Metering.ts", "test/http/search/idempotency.test.ts", [
    [
      "a replay is charged",
      "receipt: { creditsUsed: 0, before: allowance",
      "receipt: { creditsUsed: 1, before: allowance"
    ]
  ])
]

const limits = [
  ...inFile("src/services/credits/RateLimiter.ts", "test/layers/memory/RateLimiterMemory.test.ts", [
    ["one more request seems to remain", "window.limit - window.counted", "window.limit - window.counted + 1"],
    ["the reset is rounded down", "Math.ceil(leavesAtMs / 1000)", "Math.floor(leavesAtMs / 1000)"]
  ]),
  ...inFile("src/layers/memory/RateLimiterMemory.ts", "test/layers/memory/RateLimiterMemory.test.ts", [
    ["windows that are never forgotten", "      if (now >= turnsAt) turn(now)\n", ""]
  ]),
  ...inFile("src/domain/search/SearchRequest.ts", "test/domain/search/SearchRequest.test.ts", [
    ["a query of 401 characters", "maxQueryCodePoints = 400", "maxQueryCodePoints = 401"],
    ["a label of 33 characters", "maxSourceCodePoints = 32", "maxSourceCodePoints = 33"],
    [
      "a locale keeps its letter case",
      "decode: (text: string) => text.toLowerCase()",
      "decode: (text: string) => text"
    ],
    ["one result more than the target serves", "num > rules.maxNum", "num > rules.maxNum + 1"],
    ["safe search where the target has none", '"off" && !rules.safe', '"off" && rules.safe'],
    ["a page more than the target has", "page > rules.maxPage)", "page > rules.maxPage + 1)"]
  ]),
  ...inFile("src/domain/search/BulkRequest.ts", "test/domain/search/BulkRequest.test.ts", [
    ["a batch of 51", "maxBulkRows = 50", "maxBulkRows = 51"],
    ["a row asks for page 2", "page !== undefined && page !== 1", "page === 0"],
    [
      "the body's fields override a row's",
      "{ ...defaults, ...(hasDates ? {} : dates), ...row }",
      "{ ...row, ...defaults, ...(hasDates ? {} : dates) }"
    ]
  ]),
  ...inFile("src/domain/search/IdempotencyKey.ts", "test/domain/search/IdempotencyKey.test.ts", [
    ["an idempotency key of 256 characters", "maxCharacters = 255", "maxCharacters = 256"],
    ["a quoted key keeps its backslashes", '?.replaceAll(/\\\\(["\\\\])/g, "$1")', ""]
  ]),
  ...inFile("src/domain/log/Usage.ts", "test/domain/log/Usage.test.ts", [
    ["an empty range of usage", "from >= to", "from > to"],
    ["1,001 buckets of usage", "maxBuckets = 1_000", "maxBuckets = 1_001"]
  ]),
  ...inFile("src/domain/log/QueryHistory.ts", "test/domain/log/QueryHistory.test.ts", [
    ["101 entries of the log", "maxEntries = 100", "maxEntries = 101"]
  ]),
  ...inFile("src/domain/requests/fields.ts", "test/domain/log/QueryHistory.test.ts", [
    ["the 30th of February is a date", "Number(day) <= lastDay && millis", "millis"]
  ]),
  ...inFile("src/http/requests/body.ts", "test/http/search/search.test.ts", [
    ["a body of 2 MiB", "ByteSize.mebibytes(1)", "ByteSize.mebibytes(2)"],
    ["any type with json in it", "/^application\\/json\\s*(?:;|$)/i", "/json/i"]
  ]),
  ...inFile("src/domain/keys/KeyBounds.ts", "test/domain/keys/KeyBounds.test.ts", [
    ["33 networks of a key", "maxNetworks = 32", "maxNetworks = 33"],
    [
      "a key works outside its networks",
      "networks.some((network) => IpNetwork.contains(network, address))",
      "networks.length > 0"
    ],
    ["null keeps a budget", "budget: budget ?? undefined,", "budget: budget ?? bounds.budget,"]
  ]),
  ...inFile("src/domain/keys/grace.ts", "test/http/keys/keyBounds.test.ts", [
    ["a grace period of more than a day", "maxGraceSeconds = 86_400", "maxGraceSeconds = 86_401"]
  ])
]

const responses = [
  ...inFile("src/http/errors.ts", "test/http/errors.test.ts", [
    ["no credits is 403", "HttpApiSchema.status(402)", "HttpApiSchema.status(403)"],
    ["a rate limit is 420", "  429,\n", "  420,\n"],
    ["an unreadable page is 424", "HttpApiSchema.status(422)", "HttpApiSchema.status(424)"],
    ["a timeout upstream is 503", "  504,\n", "  503,\n"],
    ["a failure upstream is 500", "  502,\n", "  500,\n"],
    ["a request in progress is 425", '  409,\n  "idempotency_in_progress"', '  425,\n  "idempotency_in_progress"'],
    ["an unknown route is 410", 'plain(404, "not_found"', 'plain(410, "not_found"'],
    ["no credential is 403", "  401,\n", "  403,\n"],
    ["an error of billing is 500", "  503,\n", "  500,\n"]
  ]),
  ...inFile("src/http/responses/headers.ts", "test/http/responses/headers.test.ts", [
    ["an admitted request has Retry-After", "...(decision.admitted ? {} :", "...(decision.limit < 0 ? {} :"],
    [
      "the policy's window is in milliseconds",
      "const windowSeconds = windowMs / 1000",
      "const windowSeconds = windowMs"
    ],
    [
      "the balance of packs is what was used",
      '"x-credits-balance": String(balance)',
      '"x-credits-balance": String(before.used)'
    ],
    [
      "the limit of the quota is what remains",
      '"x-quota-limit": String(before.quota)',
      '"x-quota-limit": String(remaining(before))'
    ],
    ["a replay does not say so", '"idempotent-replayed": "true"', '"idempotent-replayed": "false"']
  ]),
  ...inFile("src/http/middleware/Edge.ts", "test/http/middleware/edge.test.ts", [
    ["a 500 has the headers of a charge", "response.status === 500 ? undefined : headers", "headers"],
    ["HEAD runs a search", 'return method !== "HEAD" || headPaths.test(pathOf(url))', "return true"],
    ["an escaped path is served", 'if (end >= 0 && url[end] !== "?") return false', ""]
  ]),
  ...inFile("src/http/requestState.ts", "test/http/middleware/edge.test.ts", [
    ["any text is a request's ID", "requestIdPattern.test(header)", "header.length > 0"]
  ]),
  ...inFile("src/http/responses/securityHeaders.ts", "test/http/responses/securityHeaders.test.ts", [
    ["types are sniffed", '{ "x-content-type-options": "nosniff" }', "{}"],
    ["responses are stored", '"cache-control": "no-store"', '"cache-control": "no-cache"'],
    ["http has Strict-Transport-Security", 'origin.startsWith("https:")', 'origin.startsWith("http")']
  ]),
  ...inFile("src/http/middleware/Cors.ts", "test/http/middleware/cors.test.ts", [
    ["a preflight of any method", " || !allows(route, method)", ""],
    [
      "any origin reads responses",
      "if (origin === undefined || !origins(route).has(origin)) return Effect.succeed(varying)",
      "if (origin === undefined) return Effect.succeed(varying)"
    ],
    ["caches do not tell origins apart", "const varying = varyByOrigin(response)", "const varying = response"]
  ])
]

const callers = [
  ...inFile("src/domain/keys/ApiKey.ts", "test/domain/keys/ApiKey.test.ts", [
    [
      "a mistyped key is looked up",
      "secretPattern.test(text) && checksum(text.slice(0, -checksumCharacters)) === text.slice(-checksumCharacters)",
      "secretPattern.test(text)"
    ],
    ["a hint shows eight characters more", "secret.slice(0, shownStart)", "secret.slice(0, shownStart + 8)"]
  ]),
  ...inFile("src/services/accounts/Credentials.ts", "test/http/accounts/credentials.test.ts", [
    ["one of two session cookies counts", " || second !== undefined) return", ") return"],
    ["the demo of any origin", "|| origin !== demoOrigin ||", "||"],
    ["a route accepts every kind of credential", "kind === undefined || !accepted.includes(kind)", "kind === undefined"]
  ]),
  ...inFile("src/domain/accounts/emailAddress.ts", "test/domain/accounts/emailAddress.test.ts", [
    ["each tag of an address has a trial", 'partBefore(local, "+")', 'partBefore(local, "#")'],
    [
      "dots of an address make it another",
      'dotlessDomains.has(domain) ? untagged.replaceAll(".", "") : untagged',
      "untagged"
    ]
  ]),
  ...inFile("src/domain/accounts/OAuth.ts", "test/domain/accounts/OAuth.test.ts", [
    [
      "an app gets scopes that it did not request",
      'requested.split(" ").includes(scope)',
      "requested.length > 0 && scope.length > 0"
    ]
  ]),
  ...inFile("src/domain/net/publicAddress.ts", "test/domain/net/publicAddress.test.ts", [
    ["a benchmark network is public", '    "198.18.0.0/15", // benchmarks\n', ""],
    ["6to4 is public", '  "2002::/16", // 6to4, which holds an IPv4 address\n', ""],
    ["a webhook with a password in its address", ' || url.password !== ""', ""],
    ["a webhook without TLS", '!(allowsPrivate && url.protocol === "http:")', 'url.protocol !== "http:"']
  ]),
  ...inFile("src/layers/billing/PolarSignature.ts", "test/layers/billing/PolarSignature.test.ts", [
    ["a payment's delivery of an hour ago", "> maxAgeSeconds)", "> 100 * maxAgeSeconds)"],
    [
      "any signature is right",
      "timingSafeEqual(expected, signature) || isFound",
      "timingSafeEqual(expected, expected) || isFound"
    ]
  ])
]

const work = [
  ...inFile("src/domain/webhooks/Event.ts", "test/domain/webhooks/Event.test.ts", [
    ["a delivery is given up a day early", "  20 * hour,\n  24 * hour\n]", "  20 * hour\n]"],
    ["waits are never shorter", "(2 * random - 1)", "random"],
    ["a Retry-After of a year", "Math.min(retryAfterMs, maxRetryAfterMs)", "retryAfterMs"],
    ["an account sees why there was no response", "error.startsWith(unreachable) ? unreachable : error", "error"],
    ["credits are low at 90 percent", "lowPercents: [80, 95]", "lowPercents: [80, 90]"]
  ]),
  ...inFile("src/services/webhooks/EventWork.ts", "test/services/webhooks/EventWork.test.ts", [
    ["404 disables an endpoint", "isGone: httpStatus === 410", "isGone: httpStatus === 404"],
    ["a redirect is a success", "status >= 200 && status < 300 ?", "status < 400 ?"],
    ["an unconfirmed address gets emails", "isFinal: true }", "isFinal: false }"]
  ]),
  ...inFile("src/domain/webhooks/DeliverySlots.ts", "test/domain/webhooks/DeliverySlots.test.ts", [
    ["one attempt too many at an endpoint", ">= limits.perEndpoint", "> limits.perEndpoint"]
  ]),
  ...inFile("src/domain/providers/CoolDown.ts", "test/domain/providers/CoolDown.test.ts", [
    ["every search probes a provider", '(current === "half_open" && !coolDown.isProbing)', 'current === "half_open"'],
    ["a provider is off for as long as it says", "Math.min(retryAfterMs, maxRetryAfterMs)", "retryAfterMs"],
    ["concurrent refusals open twice", "if (rule.extend !== true) return { ...coolDown, refusals }", ""]
  ]),
  ...inFile("src/domain/providers/Fusion.ts", "test/domain/providers/Fusion.test.ts", [
    ["the worst result is first", "b.score - a.score ||", "a.score - b.score ||"],
    ["the first rank decides", "rankOffset = 60", "rankOffset = 0"]
  ]),
  ...inFile("src/services/search/ResultCache.ts", "test/http/search/options.test.ts", [
    [
      "searches with other options share an answer",
      "[target, query, geo, locale, page, num, safe, options]",
      "[target, query, geo, locale, page, num, safe]"
    ]
  ]),
  ...inFile("src/domain/pages/robots.ts", "test/domain/pages/robots.test.ts", [
    ["rules for all apply beside our own", 'own.length > 0 ? own : rulesFor("*")', '[...own, ...rulesFor("*")]'],
    ["an empty Disallow closes the site", 'if (value !== "") groups', "groups"]
  ]),
  ...inFile("src/mcp/Toolbox.ts", "test/mcp/schemas.test.ts", [
    ["a tool takes any field", "additionalProperties: false", "additionalProperties: true"]
  ]),
  ...inFile("src/mcp/Toolbox.ts", "test/mcp/tools.test.ts", [
    ["a tool says that it changes something", "readOnlyHint: true", "readOnlyHint: false"]
  ])
]

const strangers = [
  ...inFile("src/layers/outgoing/Body.ts", "test/layers/outgoing/Body.test.ts", [
    ["a decoder outlives its body", "    this.#decoder?.destroy()\n", ""],
    ["decompressed bytes have no limit", "if (this.#bytes.length > this.#options.maxBytes) this.#exceed()", ""]
  ]),
  ...inFile("src/layers/outgoing/Exchange.ts", "test/layers/outgoing/Exchange.integration.test.ts", [
    ["a response that its caller leaves is read on", "    closeBody()\n    sent.destroy()\n", ""]
  ]),
  ...inFile("src/domain/pages/robots.ts", "test/domain/pages/robots.test.ts", [
    [
      "a path is matched however long that takes",
      "  if (path.length * rules.filter(isWildcard).length > maxWildcardSteps) return false\n",
      ""
    ]
  ]),
  ...inFile("src/domain/pages/PageLinks.ts", "test/domain/pages/PageLinks.test.ts", [
    ["a link has any address", "url.length > maxLinkAddressCharacters", "url.length < 0"],
    ["a link has any label", "cutCodePoints(text, maxLinkLabelCharacters)", "text"],
    ["a response has any number of links", "if (characters > this.#left) break", ""]
  ]),
  ...inFile("src/layers/pages/PageFetcherNode.ts", "test/layers/pages/PageFetcherNode.integration.test.ts", [
    ["an account holds all page fetches", "    slotsPerAccount: count / 4,\n", ""]
  ]),
  ...inFile("src/layers/pages/RobotsFiles.ts", "test/layers/pages/RobotsFiles.test.ts", [
    ["a rule keeps its whole file in memory", "structuredClone(parseRobots(", "((rules) => rules)(parseRobots("]
  ]),
  ...inFile("src/services/fairness/shareFairly.ts", "test/services/fairness/FairSlots.test.ts", [
    [
      "a joined fetch waits in a stranger's place",
      "payers.add(payer)",
      "payers.add(found === undefined ? payer : new Payers())"
    ]
  ])
]

/** One for each promise of the contract: a status, a header, a charge, a bound or an order. */
export const contractMutations: ReadonlyArray<TestedMutation> = [
  ...credits,
  ...limits,
  ...responses,
  ...callers,
  ...work,
  ...strangers
]
