/**
 * Requests webhooks about a login from a provider that does not send them by itself: after a link, and again
 * with later refreshes, at most once an hour for each login, because the provider may have cancelled or
 * refused an earlier request. A failure is reported; scheduled syncs then find changes later.
 */
import type { LoginId } from '#kernel/ids.ts'
import { hourMs } from '#kernel/time.ts'
import type { LoginRow } from '#store/ports/logins.ts'
import { type AskOptions, askProvider, toLogin } from './ask-provider.ts'
import type { ActionOptions } from './options.ts'

const everyMs = hourMs
/** A caller may be waiting for the link or the refresh. */
const maxWaitMs = 10_000

const windowOf = (id: LoginId) => `listen:${id}` as const

export async function listenTo(
  options: ActionOptions,
  login: LoginRow,
  askOptions: AskOptions,
): Promise<void> {
  const webhooks = options.adapters[login.provider]?.webhooks
  const { listen } = webhooks ?? {}
  if (listen === undefined) return
  const { allowed } = await options.windows.take(windowOf(login.id), 1, everyMs)
  if (!allowed) return
  try {
    const until = AbortSignal.any([askOptions.until, AbortSignal.timeout(maxWaitMs)])
    const asked = { ...askOptions, until, priority: 'background' } as const
    await askProvider(login.provider, asked, (call) => listen.call(webhooks, toLogin(login), call))
  } catch (error) {
    options.report.notListening({ provider: login.provider, error })
  }
}

/** The next link or refresh of the login repeats the request. */
export async function forgetListening({ windows }: ActionOptions, id: LoginId): Promise<void> {
  await windows.forget(windowOf(id))
}
