import { assert } from "@effect/vitest"
import { isQuarryError, type QuarryError } from "../../../clients/typescript/src/index.ts"
import {
  createTestQuarry,
  type TestQuarry,
  type TestQuarryOptions
} from "../../../clients/typescript/src/testing/index.ts"

/** A service that ends with its test. */
export const using = async (options: TestQuarryOptions, use: (test: TestQuarry) => Promise<void>): Promise<void> => {
  const test = await createTestQuarry(options)
  try {
    await use(test)
  } finally {
    await test.close()
  }
}

/** The error with which a call ends. */
export const errorOf = (call: Promise<unknown>): Promise<QuarryError> =>
  call.then(
    () => assert.fail("The call was answered."),
    (error) => (isQuarryError(error) ? error : assert.fail(String(error)))
  )

/** Everything that comes until a stream has ended. */
export const collect = async <A>(stream: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for await (const item of stream) items.push(item)
  return items
}
