/**
 * `tributary doctor --mcp URL`: replays what an agent's client does with a bare URL, step by step, and
 * reports which step fails, why, and what to do. It sends only what clients send; it uses no person's token,
 * and without a key it ends where a person would have to sign in.
 */
import { type HandshakeStep, makeChecks } from './mcp-handshake.ts'

export interface McpDoctorStart {
  /** As it would be given to an agent. */
  readonly url: string
  /** An API key to call with; null: the handshake ends at the sign-in page. */
  readonly key: string | null
  readonly json: boolean
}

/** In the format of the server's own doctor. */
export interface McpDiagnosis {
  readonly status: HandshakeStep['status']
  readonly checks: readonly HandshakeStep[]
}

/** Runs the steps until one fails; the later ones depend on it. */
export async function examineMcp(start: McpDoctorStart): Promise<McpDiagnosis> {
  const checks: HandshakeStep[] = []
  for (const check of makeChecks(start)) {
    const step = await check()
    checks.push(step)
    if (step.status === 'error') break
  }
  return { status: checks.at(-1)?.status ?? 'ok', checks }
}
