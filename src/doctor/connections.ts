/**
 * Connections that need an action by their person or by the provider: which, whose, and what to do. Only the provider
 * knows when a consent will expire; it is reported here after it has.
 */
import { unreachable } from '#kernel/unreachable.ts'
import type { TroubledConnection } from '#store/ports/inspector.ts'
import type { Store } from '#store/ports/store.ts'
import { type Check, type Finding, ok, warning } from './finding.ts'

/** Listed individually; further ones are only counted. */
const maxNamed = 50

export function checkConnections({ inspector }: Pick<Store, 'inspector'>): Check {
  return async () => {
    const counts = await inspector.countConnections()
    const troubled = await inspector.listTroubled(maxNamed)
    const { active, deleting, ...rest } = counts
    const broken = Object.values(rest).reduce((sum, count) => sum + count, 0)
    const parts = Object.entries(rest).flatMap(([status, count]) =>
      count === 0 ? [] : [`${count} ${status}`],
    )
    const message = [`${active} active`, ...parts].join(', ')
    return [
      broken === 0
        ? ok('connections', message)
        : warning('connections', message, 'The findings below say what each of them needs'),
      deleting === 0
        ? ok('deletions', 'none is pending')
        : warning(
            'deletions',
            `${deleting} pending: the consent is not yet deleted at the provider`,
            'They are retried every five minutes; the log line "connection removal" has the reason',
          ),
      ...troubled.map(describe),
      ...mentionRest(broken + deleting - troubled.length),
    ]
  }
}

function mentionRest(count: number): readonly Finding[] {
  if (count <= 0) return []
  const action = 'Resolve these first, or list a user’s with `tributary connections list U`'
  return [warning('connections:more', `${count} more are not active`, action)]
}

function describe({ id, email, provider, institutionName, status }: TroubledConnection): Finding {
  const name = `connection:${id}`
  const whose = `${institutionName} (${provider}) of ${email}`
  const refresh = `tributary connections refresh ${id}`
  switch (status) {
    case 'invalidated':
      return warning(
        name,
        `${whose}: consent or credentials have expired`,
        `Ask ${email} to connect again, then \`${refresh}\``,
      )
    case 'pending_mfa':
      return warning(
        name,
        `${whose}: the institution waits for a second factor`,
        `Ask ${email} to answer it, then \`${refresh}\``,
      )
    case 'revoked':
      return warning(
        name,
        `${whose}: the consent was withdrawn`,
        `Ask ${email} to connect again, or \`tributary connections remove ${id}\``,
      )
    case 'deleting':
      return warning(
        name,
        `${whose}: deletion is pending`,
        `\`tributary connections remove ${id}\` tries at once`,
      )
    default:
      return unreachable(status)
  }
}
