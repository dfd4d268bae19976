/** The size of a benchmark run. */
export interface Scale {
  readonly name: "full" | "short"
  /** Duration of one run. */
  readonly seconds: number
  /** Duration of the warm-up before a subject's first run. */
  readonly warmUpSeconds: number
  /** Searches that each process has answered before it is measured: until then Node's compiler takes a third of the time. */
  readonly warmUpSearches: number
  /** Number of runs of each subject. */
  readonly pairs: number
  /** Number of accounts that searches are spread over. */
  readonly accounts: number
  /** Number of searches during which memory is measured. */
  readonly memorySearches: number
  /** Duration for which memory is measured under batches. */
  readonly memoryBatchSeconds: number
  /** Number of connections that send batches while memory is measured. */
  readonly memoryBatchConnections: number
  /** Number of process starts. */
  readonly starts: number
  /** Number of replicas. */
  readonly replicas: ReadonlyArray<number>
  /** Processes of one service (`WORKERS`). */
  readonly workers: ReadonlyArray<number>
  /** Idle connections, in addition to the connections that search. */
  readonly idleConnections: ReadonlyArray<number>
  /** Connections that search at the same time. */
  readonly busyConnections: ReadonlyArray<number>
  /** Accounts in the growth table. */
  readonly accountCounts: ReadonlyArray<number>
  /** Searches in the log before the measurement starts. */
  readonly logSizes: ReadonlyArray<number>
}

export const full: Scale = {
  name: "full",
  seconds: 10,
  warmUpSeconds: 5,
  warmUpSearches: 40_000,
  pairs: 5,
  accounts: 1000,
  memorySearches: 200_000,
  memoryBatchSeconds: 300,
  memoryBatchConnections: 512,
  starts: 7,
  replicas: [1, 2, 4],
  workers: [1, 2, 4, 8],
  // With the 64 that search, the limit of the listener.
  idleConnections: [0, 8128],
  busyConnections: [1024],
  accountCounts: [1, 1000],
  logSizes: [0, 1_000_000]
}

/** Values for `--large`, which takes many more minutes. */
export const large = { accountCounts: [1, 1000, 10_000, 100_000, 1_000_000], logSizes: [0, 1_000_000, 10_000_000] }

/** Only checks that everything runs. The results are meaningless. */
export const short: Scale = {
  name: "short",
  seconds: 0.2,
  warmUpSeconds: 0.1,
  warmUpSearches: 1,
  pairs: 1,
  accounts: 5,
  memorySearches: 100,
  memoryBatchSeconds: 0.2,
  memoryBatchConnections: 2,
  starts: 1,
  replicas: [1, 2],
  workers: [2],
  idleConnections: [10],
  busyConnections: [2],
  accountCounts: [1],
  logSizes: [1000]
}
