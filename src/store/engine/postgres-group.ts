/**
 * Statements that are sent to PostgreSQL in one message and answered in one: the extended query protocol with
 * one `Sync` after all of them (PostgreSQL documentation, Message Flow, Pipelining). The server runs them in
 * order; after one that fails it skips the rest. Each statement is a `Query` of the driver, which encodes its
 * values and reads its rows.
 */
import { type Connection, Query, type QueryConfig, type QueryResult, type Submittable } from 'pg'
import { postgresTypes } from './postgres-codec.ts'

export interface Statement {
  readonly text: string
  readonly values: readonly unknown[]
}

/** What the driver's `Query` has, beyond its published type, to be answered. */
interface Part extends Submittable {
  handleRowDescription(message: unknown): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleReadyForQuery(connection: Connection): void
}

export interface GroupEnd {
  /** The results of the statements before the first error, or of all statements. */
  readonly results: readonly QueryResult[]
  /** The first statement's error. */
  readonly error: Error | null
}

/** Sends the statements with `send`. */
export function runGroup(
  send: (group: Submittable) => void,
  statements: readonly Statement[],
): Promise<GroupEnd> {
  return new Promise((resolve) => {
    const results: QueryResult[] = []
    send(makeGroup(statements, results, (error) => resolve({ results, error })))
  })
}

/**
 * The driver replaces `callback` with one that ends the time limit too, and calls the handlers with the
 * server's messages.
 * @param results gets those of the statements that are answered.
 */
function makeGroup(
  statements: readonly Statement[],
  results: QueryResult[],
  callback: (error: Error | null) => void,
) {
  // Rows that cannot be read do not keep the server from running the statements after them.
  let unreadable: Error | null = null
  const parts = statements.map((statement) =>
    makePart(statement, (error, result) => {
      if (error) unreadable ??= error
      else if (unreadable === null) results.push(result)
    }),
  )
  let answered = 0
  const current = (): Part => {
    const part = parts[answered]
    if (part === undefined) throw new Error('PostgreSQL answers more statements than were sent')
    return part
  }
  return {
    callback,
    submit(connection: Connection) {
      const quiet: Connection = Object.create(connection, { sync: { value: () => {} } })
      connection.stream.cork()
      for (const part of parts) part.submit(quiet)
      connection.sync()
      connection.stream.uncork()
    },
    handleRowDescription: (message: unknown) => current().handleRowDescription(message),
    handleDataRow: (message: unknown) => current().handleDataRow(message),
    handleCommandComplete(message: unknown, connection: Connection) {
      const part = current()
      answered += 1
      part.handleCommandComplete(message, connection)
      part.handleReadyForQuery(connection)
    },
    handleReadyForQuery() {
      this.callback(unreadable)
    },
    /** The error of a statement, of the time limit, or of the connection. Nothing is answered after it. */
    handleError(error: Error) {
      this.callback(unreadable ?? error)
    },
  }
}

function makePart(
  { text, values }: Statement,
  callback: (error: Error | undefined, result: QueryResult) => void,
): Part {
  // Without values the driver would use the simple protocol, which has a `Sync` of its own.
  const config: QueryConfig = Object.assign(
    { text, values: [...values], types: postgresTypes },
    { queryMode: 'extended' },
  )
  return new Query(config, callback) as Query & Part
}
