/** The reporter of the test suites: node:test's own, and then the files that took longest. */
import { relative } from 'node:path'
import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'

/** Files, in a group (test-groups.ts) or not, are tests that have no parent. */
interface Reported {
  readonly type: string
  readonly data: {
    readonly name?: string
    readonly nesting?: number
    readonly details?: { readonly duration_ms: number }
  }
}

const shown = 10

export default async function* report(events: AsyncIterable<Reported>) {
  const milliseconds = new Map<string, number>()
  async function* note() {
    for await (const event of events) {
      const { name, nesting, details } = event.data
      const isFile = event.type === 'test:complete' && nesting === 0 && name?.endsWith('.test.ts')
      if (isFile === true && details !== undefined) {
        milliseconds.set(relative('.', name ?? ''), details.duration_ms)
      }
      yield event
    }
  }
  yield* Readable.from(note()).pipe(new spec())
  const slowest = [...milliseconds].sort(([, one], [, other]) => other - one).slice(0, shown)
  yield `\nthe ${slowest.length} slowest files:\n`
  for (const [file, ms] of slowest) yield `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}\n`
}
