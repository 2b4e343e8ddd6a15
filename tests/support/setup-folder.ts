/**
 * `tributary setup` in a folder of its own against the emulators, with a stand-in for the terminal, for
 * tests.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Sandbox } from '#sandbox/start.ts'
import { type CommandOptions, type Ended, runCommand } from './command.ts'

interface Answered extends Pick<CommandOptions, 'input' | 'typed' | 'untilStopped'> {
  readonly env?: Readonly<Record<string, string>>
}

export type SetUp = (args: readonly string[], how?: Answered) => Promise<Ended>

export function makeSetupFolder(
  t: TestContext,
  sandbox: Sandbox,
): { readonly folder: string; readonly setUp: SetUp } {
  const folder = mkdtempSync(join(tmpdir(), 'tributary-setup-'))
  t.after(() => rmSync(folder, { recursive: true }))
  return { folder, setUp: makeSetUp(folder, sandbox) }
}

function makeSetUp(folder: string, sandbox: Sandbox): SetUp {
  return (args, { env = {}, ...how } = {}) =>
    runCommand(['setup', ...args], {
      ...how,
      environment: {
        // Nobody listens there: no service runs.
        ...{ ADMIN_PORT: '1', DATA_DIR: join(folder, 'data') },
        UP_BASE_URL: sandbox.access.up?.baseUrl,
        AKAHU_BASE_URL: sandbox.access.akahu?.baseUrl,
        SNAPTRADE_BASE_URL: sandbox.access.snaptrade?.baseUrl,
        ...env,
      },
      workingDirectory: folder,
    })
}
