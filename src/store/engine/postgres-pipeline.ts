/**
 * The statements of one connection to PostgreSQL. In a transaction those whose rows nobody waits for are sent
 * together with the next one that somebody waits for, or with the commit: an event of a sync takes a third of
 * the messages. Their order stays the same, and each of them has succeeded before the transaction is
 * committed.
 */
import type { PoolClient, QueryResult } from 'pg'
import type { Expectation } from './engine.ts'
import { runGroup, type Statement } from './postgres-group.ts'

/** As the only value of a statement: it may wait, and has these values. */
export class DeferredValues {
  readonly values: readonly unknown[]
  readonly expected: Expectation<unknown>
  constructor(values: readonly unknown[], expected: Expectation<unknown>) {
    this.values = values
    this.expected = expected
  }
}

/**
 * Runs a statement, or remembers it. Fails with the first failure, also of a statement that was remembered.
 */
export type RunStatement = (text: string, values: readonly unknown[]) => Promise<StatementResult>

export type StatementResult = Pick<QueryResult, 'command' | 'rowCount' | 'rows'>

interface Waiting extends Statement {
  readonly expected: Expectation<unknown>
}

/** Statements that are remembered at a time. */
const maxWaiting = 16

const nothing = (command: string): StatementResult => ({ command, rowCount: 0, rows: [] })

export function makePipeline(client: PoolClient): RunStatement {
  let waiting: readonly Waiting[] = []

  /** Sends what waits, and then this statement, in one message. */
  async function send(last: readonly Waiting[]): Promise<StatementResult> {
    const statements = [...waiting, ...last]
    waiting = []
    const { results, error } = await runGroup((group) => client.query(group), statements)
    // Before the failure of a later statement, which may follow from what a check refuses.
    for (const [index, { rows }] of results.entries()) statements[index]?.expected.check?.(rows)
    if (error === null) return results.at(-1) ?? nothing('')
    const { toError } = statements[results.length]?.expected ?? {}
    throw toError === undefined ? error : toError(error)
  }

  async function remember(statement: Waiting): Promise<StatementResult> {
    waiting = [...waiting, statement]
    return waiting.length < maxWaiting ? nothing('') : send([])
  }

  async function commit(text: string): Promise<StatementResult> {
    if (isUnsent(waiting) && waiting.length === 1) {
      waiting = []
      return nothing('COMMIT')
    }
    // A check may still refuse what was done.
    if (waiting.some(({ expected }) => expected.check !== undefined)) await send([])
    return run(text, [])
  }

  async function rollback(text: string): Promise<StatementResult> {
    const isNothing = isUnsent(waiting)
    waiting = []
    return isNothing ? nothing('ROLLBACK') : run(text, [])
  }

  async function run(text: string, values: readonly unknown[]): Promise<StatementResult> {
    if (waiting.length === 0) return client.query(text, [...values])
    if (values.every(isPlain)) return send([{ text, values, expected: {} }])
    await send([])
    return client.query(text, [...values])
  }

  return async (text, values) => {
    const [first] = values
    if (first instanceof DeferredValues) {
      if (!first.values.every(isPlain))
        throw new TypeError('a statement cannot wait with such values')
      return remember({ text, values: first.values, expected: first.expected })
    }
    if (text === 'begin') return remember({ text, values, expected: {} })
    if (text === 'commit') return commit(text)
    return text === 'rollback' ? rollback(text) : run(text, values)
  }
}

/** The transaction has not begun on the server. */
const isUnsent = ([first]: readonly Waiting[]): boolean => first?.text === 'begin'

/** The driver encodes these without an error; after one it would send the rest of a group. */
const isPlain = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  typeof value === 'string' ||
  typeof value === 'number' ||
  typeof value === 'bigint' ||
  typeof value === 'boolean' ||
  value instanceof Date ||
  value instanceof Uint8Array
