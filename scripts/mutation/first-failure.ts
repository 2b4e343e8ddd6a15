/** A reporter of tests that ends the process with 1 at the first failure and prints nothing. */
import type { TestEvent } from 'node:test/reporters'

export default async function* endAtFailure(
  events: AsyncIterable<TestEvent>,
): AsyncGenerator<string> {
  for await (const { type } of events) if (type === 'test:fail') process.exit(1)
  yield ''
}
