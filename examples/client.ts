/**
 * What the examples share: the client of `sdk/typescript`, which reads TRIBUTARY_API_KEY and
 * TRIBUTARY_BASE_URL, and one line instead of a stack for what a reader can mend.
 */
import { type Account, ApiError, Tributary, TributaryError } from '../sdk/typescript/index.js'

/** Exits the program with one line that says what to do. */
export function stop(line: string): never {
  console.error(line)
  process.exit(1)
}

/** The program's arguments; exits when there are too many. */
export function readArguments(most: number, usage: string): readonly string[] {
  const given = process.argv.slice(2)
  if (given.length > most || given.some((text) => text.startsWith('-'))) stop(`usage: ${usage}`)
  return given
}

/** A whole number of at least `least`; exits on anything else. */
export function readCount(name: string, text: string, least: number): number {
  if (!/^\d{1,9}$/.test(text) || Number(text) < least) {
    stop(`${name} must be a whole number of at least ${least}, not ${JSON.stringify(text)}`)
  }
  return Number(text)
}

/** The client waits as long as `Retry-After` says, within `timeout`. */
export function openClient(): Tributary {
  try {
    return new Tributary({ userAgent: 'tributary-examples', timeout: 300_000 })
  } catch (error) {
    return stop(error instanceof TypeError ? error.message : String(error))
  }
}

/** Runs the program; a failure of a request ends it with one line. */
export async function run(program: () => Promise<void>): Promise<void> {
  try {
    await program()
  } catch (error) {
    if (error instanceof ApiError) {
      stop(`the server answered ${error.status}: ${error.message} (request ${error.requestId})`)
    }
    if (error instanceof TributaryError) stop(error.message)
    throw error
  }
}

/** Bank accounts only: brokerage accounts have no transactions and balances. */
export async function listBankAccounts(client: Tributary): Promise<readonly Account[]> {
  const banks = new Set<string>()
  for await (const { id, category } of client.connections.list()) {
    if (category === 'banking') banks.add(id)
  }
  const accounts: Account[] = []
  for await (const account of client.accounts.list({ limit: 200 })) {
    if (banks.has(account.connectionId)) accounts.push(account)
  }
  return accounts
}
