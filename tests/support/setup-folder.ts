/** `tributary setup` in a folder of its own against the emulators, with a stand-in for the terminal, for tests. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Sandbox } from '#sandbox/start.ts'
import { run } from '../../cli/run.ts'

interface Answered {
  readonly env?: Readonly<Record<string, string>>
  /** What a pipe sends. */
  readonly input?: string
  /** What a person types on a terminal. */
  readonly typed?: string
  readonly untilStopped?: () => Promise<void>
}

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

export type SetUp = (args: readonly string[], how?: Answered) => Promise<Ended>

async function* send(text: string) {
  if (text !== '') yield text
}

export function makeSetupFolder(
  t: TestContext,
  sandbox: Sandbox,
): { readonly folder: string; readonly setUp: SetUp } {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-setup-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return { folder, setUp: makeSetUp(folder, sandbox) }
}

function makeSetUp(folder: string, sandbox: Sandbox): SetUp {
  return async (args, { env = {}, input = '', typed, untilStopped } = {}) => {
    const output = { out: '', err: '' }
    const terminal = { isTTY: true, setRawMode: () => {} }
    const code = await run(['setup', ...args], {
      environment: {
        // Nobody listens there: no service runs.
        ...{ ADMIN_PORT: '1', DATA_DIR: join(folder, 'data') },
        UP_BASE_URL: sandbox.access.up?.baseUrl,
        AKAHU_BASE_URL: sandbox.access.akahu?.baseUrl,
        SNAPTRADE_BASE_URL: sandbox.access.snaptrade?.baseUrl,
        ...env,
      },
      workingDirectory: folder,
      input: typed === undefined ? send(input) : Object.assign(send(typed), terminal),
      isErrTerminal: typed !== undefined,
      out: (text) => {
        output.out += text
      },
      err: (text) => {
        output.err += text
      },
      untilStopped: untilStopped ?? (() => new Promise(() => {})),
      untilUnread: () => new Promise(() => {}),
    })
    return { code, ...output }
  }
}
