/**
 * Standard output of the command. A file gets every byte or the command says that it did not: Node's stream
 * for files does not look whether the system took less than it was given, as it does when a disk fills up.
 */
import { fstatSync, writeSync } from 'node:fs'
import { getSystemErrorMessage } from 'node:util'

/** What was printed is not whole. The message says why. */
export class OutputError extends Error {
  override readonly name = 'OutputError'
}

export interface Output {
  readonly out: (text: string) => void
  /** Resolves when the text was taken; rejects when it was not. */
  readonly write: (text: string) => Promise<void>
  /** Resolves when nothing more can be printed. */
  readonly untilUnread: () => Promise<void>
  /** Null: a file has all that was printed, and a pipe or a terminal all that its reader asked for. */
  readonly loss: () => OutputError | null
}

export function makeOutput(stream: NodeJS.WriteStream & { readonly fd: number }): Output {
  return isFile(stream) ? makeFileOutput(stream.fd) : makeStreamOutput(stream)
}

/** Devices like `/dev/full` are written like files. */
function isFile({ fd, isTTY }: NodeJS.WriteStream & { readonly fd: number }): boolean {
  const stats = fstatSync(fd)
  return stats.isFile() || (stats.isCharacterDevice() && !isTTY)
}

function makeFileOutput(fd: number): Output {
  const ended = Promise.withResolvers<void>()
  let loss: OutputError | null = null
  const out = (text: string) => {
    if (loss !== null) return
    try {
      writeAll(fd, Buffer.from(text))
    } catch (error) {
      loss = new OutputError(describe(error as NodeJS.ErrnoException), { cause: error })
      ended.resolve()
    }
  }
  return {
    out,
    async write(text) {
      out(text)
      if (loss !== null) throw loss
    },
    untilUnread: () => ended.promise,
    loss: () => loss,
  }
}

function writeAll(fd: number, bytes: Uint8Array): void {
  for (let done = 0; done < bytes.length; ) done += writeSync(fd, bytes, done)
}

function describe({ errno, code }: NodeJS.ErrnoException): string {
  const reason = errno === undefined ? '' : `: ${getSystemErrorMessage(errno)}`
  return `Standard output could not be written${reason} (${String(code)})`
}

/** The reader may stop before the end (`| head`): the rest is lost, which is no failure. */
function makeStreamOutput(stream: NodeJS.WriteStream): Output {
  return {
    out: (text) => void stream.write(text),
    write: (text) =>
      new Promise((resolve, reject) => {
        stream.write(text, (error) => (error ? reject(error) : resolve()))
      }),
    untilUnread: () => new Promise((resolve) => stream.on('error', () => resolve())),
    loss: () => null,
  }
}
