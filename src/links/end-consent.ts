/**
 * Ends one consent at its provider, as part of forgetting it here. A consent that is gone already, or credentials that
 * no longer open anything, count as ended; a provider that cannot be asked is told in words: the connection has to wait.
 * Without the secret of its login nobody can ever ask: such a consent is given up, and forgetting goes on.
 */
import type { LoginId } from '#kernel/ids.ts'
import { UpstreamError, type UpstreamFailure } from '#providers/failure.ts'
import type { ConnectionRow, LoginRow, Store } from '#store/port.ts'
import { SealError } from '#store/seal.ts'
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
  /** It may live on at the provider, and waiting changes nothing. */
  | { readonly kind: 'abandoned'; readonly detail: string }

/** `last`: no other connection of ours uses its login. Never throws for the provider's sake. */
export async function endConsent(
  deps: ActionDeps,
  { row, last }: { readonly row: ConnectionRow; readonly last: boolean },
  patience: Patience,
): Promise<EndOfConsent> {
  const adapter = deps.adapters[row.provider]
  if (adapter === undefined) {
    return { kind: 'pending', failure: null, detail: 'the provider is not configured' }
  }
  const login = await openLogin(deps.store, row.loginId)
  // Whoever took the login away took its connections along.
  if (login === null) return { kind: 'ended' }
  if (login === 'damaged') {
    return { kind: 'abandoned', detail: 'the secret of its login does not open' }
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

async function openLogin(store: Store, id: LoginId): Promise<LoginRow | 'damaged' | null> {
  try {
    return await store.logins.get(id)
  } catch (error) {
    if (error instanceof SealError) return 'damaged'
    throw error
  }
}
