/** A person of the sandbox with a year of rows, and the first example of a README as a program. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { type Service, startService } from '#tests/support/service.ts'
import { sum } from '../../sdk/typescript/index.js'

export const root = join(import.meta.dirname, '../..')
const execute = promisify(execFile)

/** Runs a program without any of our environment. @returns its standard output. */
export async function run(
  file: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env?: Readonly<Record<string, string>> },
): Promise<string> {
  const { PATH = '', HOME = '' } = process.env
  const { stdout } = await execute(file, args, {
    cwd: options.cwd,
    env: { PATH, HOME, ...options.env },
    timeout: 100_000,
  })
  return stdout
}

/** The first block of code of this language in a README. */
export function firstExample(readme: string, language: string): string {
  const text = readFileSync(join(root, readme), 'utf8')
  const code = text.split(`\`\`\`${language}\n`)[1]?.split('```')[0]
  assert(code !== undefined, `${readme} has an example in ${language}`)
  return code
}

export interface Person {
  readonly env: Readonly<Record<string, string>>
  /** What the example must print of the first current account. */
  readonly line: string
}

export async function openPerson(t: TestContext): Promise<Person> {
  const service = await startService()
  t.after(() => service.close())
  const user = await service.createUser()
  await service.link(user, 'healthy', 'fiskil')
  const { body } = await service.get('/v1/accounts', user)
  const account = body.data.find(({ type }: { type: string }) => type === 'transaction')
  const amounts = await listAmounts(service, user, account)
  assert(amounts.length > 100, 'it is a year of rows')
  return {
    env: { TRIBUTARY_API_KEY: user.key, TRIBUTARY_BASE_URL: service.baseUrl },
    line: `${account.name} ${account.currency} ${sum(amounts)}\n`,
  }
}

async function listAmounts(
  service: Service,
  user: Parameters<Service['get']>[1],
  account: { readonly id: string; readonly connectionId: string },
): Promise<string[]> {
  const amounts: string[] = []
  for (let offset = 0; ; ) {
    const query = `connectionId=${account.connectionId}&accountId=${account.id}&from=2026-01-01&limit=500&offset=${offset}`
    const { body } = await service.get(`/v1/transactions?${query}`, user)
    amounts.push(...body.data.map(({ amount }: { amount: string }) => amount))
    if (!body.pagination.hasMore) return amounts
    offset = body.pagination.offset + body.pagination.limit
  }
}
