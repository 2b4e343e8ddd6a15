/**
 * Ends one consent at its provider, as part of forgetting it here. A consent that is gone already, or credentials that
 * no longer open anything, count as ended; a provider that cannot be asked is told in words: the connection has to wait.
 */
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { ConnectionRow, LoginRow } from '#store/port.ts'
import { askProvider, type Patience, toLogin } from './ask-provider.ts'
import type { ActionDeps } from './deps.ts'

export type EndOfConsent =
  | { readonly kind: 'ended' }
  /** `failure` null: the provider is not configured. */
  | {
      readonly kind: 'pending'
      readonly failure: UpstreamFailure['kind'] | null
      readonly detail: string
    }

/** `last`: no other connection of ours uses this login. Never throws for the provider's sake. */
export async function endConsent(
  deps: ActionDeps,
  target: { readonly login: LoginRow; readonly row: ConnectionRow; readonly last: boolean },
  patience: Patience,
): Promise<EndOfConsent> {
  const { login, row, last } = target
  const adapter = deps.adapters[row.provider]
  if (adapter === undefined) {
    return { kind: 'pending', failure: null, detail: 'the provider is not configured' }
  }
  // Adapters know no `deleting`; for revoking, the status makes no difference.
  const connection = { id: row.id, upstreamId: row.upstreamId, status: 'revoked' } as const
  try {
    await askProvider(row.provider, patience, (call) =>
      adapter.revoke(toLogin(login), connection, { last }, call),
    )
    return { kind: 'ended' }
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    const { kind, detail } = error.failure
    return kind === 'consent_lost' ? { kind: 'ended' } : { kind: 'pending', failure: kind, detail }
  }
}
