/**
 * Asks a provider to send webhooks about a login, where it does not send them by itself. It is done after a link and
 * repeated with later refreshes, at most once an hour for each login, so that what the provider cancelled, or refused at
 * first, is made good. A failure costs nobody anything but time: it is reported, and syncs go by their schedule.
 */
import type { LoginId } from '#kernel/ids.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { askProvider, toLogin } from './ask-provider.ts'
import type { ActionDeps } from './deps.ts'

const everyMs = 3_600_000
/** Somebody may wait for the link or the refresh. */
const maxWaitMs = 10_000

const windowOf = (id: LoginId) => `listen:${id}`

export async function listenTo(
  deps: ActionDeps,
  login: LoginRow,
  { stop }: { readonly stop?: AbortSignal } = {},
): Promise<void> {
  const webhooks = deps.adapters[login.provider]?.webhooks
  const { listen } = webhooks ?? {}
  if (listen === undefined) return
  const { allowed } = await deps.windows.take(windowOf(login.id), 1, everyMs)
  if (!allowed) return
  try {
    const options = {
      timeoutMs: Math.min(deps.timeoutMs, maxWaitMs),
      priority: 'background',
      ...(stop === undefined ? {} : { stop }),
    } as const
    await askProvider(login.provider, options, (call) =>
      listen.call(webhooks, toLogin(login), call),
    )
  } catch (error) {
    deps.report.notListening({ provider: login.provider, error })
  }
}

/** The next link or refresh of the login asks again. */
export async function forgetListening({ windows }: ActionDeps, id: LoginId): Promise<void> {
  await windows.forget(windowOf(id))
}
