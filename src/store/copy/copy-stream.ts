/**
 * COPY in both directions on one connection of the driver, with its calls for a query of one's own
 * (PostgreSQL documentation, Message Flow, COPY Operations). Data is sent as fast as the server takes it, and
 * read without being kept.
 */
import type { Client, Connection, Submittable } from 'pg'

/** What the driver's connection has beyond its published type. */
interface CopyConnection extends Connection {
  query(text: string): void
  sendCopyFromChunk(chunk: Uint8Array): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

/** The calls that the driver makes while a COPY is answered. */
interface CopyQuery extends Submittable {
  handleCopyInResponse(connection: CopyConnection): void
  handleCopyData(message: { readonly chunk: Uint8Array }): void
  handleCommandComplete(message: { readonly text: string }): void
  handleReadyForQuery(): void
  handleError(error: Error): void
}

/**
 * Runs `copy … from stdin` with these chunks, which are asked for one by one.
 * @returns how many rows the server took.
 */
export function copyIn(client: Client, text: string, chunks: Iterable<Uint8Array>) {
  let failure: Error | null = null
  return runCopy(client, text, {
    async start(connection) {
      try {
        for (const chunk of chunks) {
          if (failure !== null || !connection.stream.writable) return
          connection.sendCopyFromChunk(chunk)
          if (connection.stream.writableNeedDrain) await untilDrained(connection)
        }
        connection.endCopyFrom()
      } catch (error) {
        // The server ends the statement with an error of its own, which says less.
        failure = error instanceof Error ? error : new Error(String(error))
        connection.sendCopyFail('the copying process stopped')
      }
    },
    toError(error) {
      failure ??= error
      return failure
    },
  })
}

/**
 * Runs `copy … to stdout`; `take` sees each chunk at once and does not keep it.
 * @returns how many rows the server sent.
 */
export function copyOut(client: Client, text: string, take: (chunk: Uint8Array) => void) {
  return runCopy(client, text, { take })
}

interface CopyOptions {
  readonly start?: (connection: CopyConnection) => Promise<void>
  readonly take?: (chunk: Uint8Array) => void
  readonly toError?: (error: Error) => Error
}

function runCopy(client: Client, text: string, options: CopyOptions): Promise<number> {
  const ended = Promise.withResolvers<number>()
  let rows = 0
  const query: CopyQuery = {
    submit: (connection) => (connection as CopyConnection).query(text),
    handleCopyInResponse: (connection) => void options.start?.(connection),
    handleCopyData: ({ chunk }) => options.take?.(chunk),
    handleCommandComplete({ text: tag }) {
      rows = Number(/^COPY (\d+)$/.exec(tag)?.[1])
    },
    handleReadyForQuery: () => ended.resolve(rows),
    handleError: (error) => ended.reject(options.toError?.(error) ?? error),
  }
  client.query(query)
  return ended.promise
}

/** It ends when the connection closes as well: then the driver reports the failure. */
function untilDrained({ stream }: CopyConnection): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      stream.off('drain', end)
      stream.off('close', end)
      resolve()
    }
    stream.on('drain', end)
    stream.on('close', end)
  })
}
