/**
 * `tributary conformance`: asks a server of this API, or a receiver of its events, from outside, and reports
 * which promises of the contract are kept. The key and the secret are in no output. Exit code 0: no check
 * failed; 1: one did, or the server does not accept the key.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Environment } from '#settings/environment-file.ts'
import { readSecrets, type SecretInput } from '../read-secrets.ts'
import { Refusal } from '../server.ts'
import { CheckFailure } from './check.ts'
import { makeClient } from './client.ts'
import { type ConformanceStart, isSecret, secretRule } from './conformance-command.ts'
import { dates } from './dates.ts'
import { documentSubject } from './document.ts'
import { envelopes, errors } from './errors.ts'
import { errorOf } from './exchange.ts'
import { headers } from './headers.ts'
import { limits } from './limits.ts'
import { paging } from './paging.ts'
import { receiverSubject } from './receiver.ts'
import { type CheckFinding, examine, renderFinding, renderSummary, toReport } from './report.ts'
import { type CheckSession, makeSession } from './session.ts'
import { shapes } from './shapes.ts'

/** The last two look at every answer of the run. */
export const serverSubjects = [
  documentSubject,
  shapes,
  errors,
  dates,
  limits,
  paging,
  envelopes,
  headers,
] as const

export interface Outside {
  readonly environment: Environment
  readonly input: SecretInput
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

export async function runConformance(start: ConformanceStart, terminal: Outside): Promise<0 | 1> {
  const named = start.of === 'server' ? start.key : start.secret
  const flag = start.of === 'server' ? '--key' : '--secret'
  const [secret = named ?? terminal.environment.TRIBUTARY_API_KEY ?? ''] =
    named === '-' ? await readSecrets(terminal.input, [flag], terminal.err) : []
  if (secret === '') throw refusal('Give --key, or set TRIBUTARY_API_KEY')
  // A header cannot carry it, and the message of that failure would repeat it.
  if (!/^[\x21-\x7e]+$/.test(secret)) throw refusal('The key has characters that no key has')
  if (start.of === 'receiver' && !isSecret(secret)) throw refusal(secretRule)
  const hide = (text: string) => withoutSecret(text, secret)
  const found = (finding: CheckFinding) => {
    if (!start.json) terminal.out(hide(renderFinding(finding)))
  }
  const findings =
    start.of === 'receiver'
      ? await examine(
          [receiverSubject],
          { ...start, secret, now: Date.now, sent: [] },
          { isQuick: false, found },
        )
      : await examineServer({ ...start, key: secret }, { terminal, found })
  const report = toReport(start.of === 'server' ? start.baseUrl : start.url, findings)
  terminal.out(start.json ? `${hide(JSON.stringify(report))}\n` : renderSummary(report))
  return report.failed === 0 ? 0 : 1
}

interface ServerStart {
  readonly baseUrl: string
  readonly key: string
  readonly isQuick: boolean
}

async function examineServer(
  { baseUrl, key, isQuick }: ServerStart,
  {
    terminal,
    found,
  }: { readonly terminal: Outside; readonly found: (finding: CheckFinding) => void },
): Promise<readonly CheckFinding[]> {
  const client = makeClient({
    baseUrl,
    key,
    now: Date.now,
    sleep: (ms) => sleep(ms),
    tell: (line) => terminal.err(`${line}\n`),
  })
  const session = makeSession(client, Date.now)
  await expectAccess(session, key)
  return examine(serverSubjects, session, { isQuick, found })
}

/** Without access every check would fail or be skipped, which would say nothing of the server. */
async function expectAccess({ client }: CheckSession, key: string): Promise<void> {
  try {
    const answer = await client.once('/v1/connections')
    if (answer.status !== 401 && answer.status !== 403) return
    const message = withoutSecret(String(errorOf(answer).message), key)
    throw refusal(`The server refuses this key: ${answer.status} ${message}`)
  } catch (error) {
    if (!(error instanceof CheckFailure)) throw error
    throw refusal(`${client.baseUrl}: ${error.seen}`)
  }
}

/** A server may repeat what it was sent. */
const withoutSecret = (text: string, secret: string) => text.replaceAll(secret, '[secret]')

const refusal = (message: string) => new Refusal({ error: { message } })
