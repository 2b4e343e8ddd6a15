/**
 * Forgets a person: from the first moment on nobody acts or reads in their name (keys, sessions, agents, connections);
 * their consents are ended at the providers as far as these answer in time, then everything of theirs is purged. A provider that is away, or a secret that does not open, does not keep us from
 * forgetting; it is reported.
 */
import type { LoginId, UserId } from '#kernel/ids.ts'
import type { ActionDeps } from './deps.ts'
import { endConsent } from './end-consent.ts'

/** False when there is no such user. */
export type DeleteUser = (id: UserId) => Promise<boolean>

/** Makes the action. All consents together have one action's patience; the providers are asked side by side. */
export function makeDeleteUser(deps: ActionDeps): DeleteUser {
  const { store, clock } = deps
  return async (id) => {
    // Before any turn is waited for, and before any provider is asked.
    if (!(await store.users.disarm(id, clock.now()))) return false
    return deps.turns.take(id, async () => {
      const logins = await store.logins.listIds(id)
      for (const login of logins) {
        for (const row of await store.connections.listByLogin(login)) {
          await store.connections.setStatus(row.id, 'deleting')
        }
      }
      const deadline = performance.now() + deps.timeoutMs
      await Promise.all(logins.map((login) => endLogin(deps, login, deadline)))
      return store.users.delete(id)
    })
  }
}

async function endLogin(deps: ActionDeps, login: LoginId, deadline: number): Promise<void> {
  const rows = await deps.store.connections.listByLogin(login)
  for (const [index, row] of rows.entries()) {
    const last = index === rows.length - 1
    const timeoutMs = Math.max(1, Math.ceil(deadline - performance.now()))
    const end = await endConsent(deps, { row, last }, { timeoutMs, priority: 'user' })
    deps.report.deletion({
      provider: row.provider,
      connectionId: row.id,
      outcome: end.kind === 'ended' ? 'done' : 'abandoned',
      detail: end.kind === 'ended' ? '' : end.detail,
    })
  }
}
