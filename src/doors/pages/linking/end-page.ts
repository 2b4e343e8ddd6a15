/** When a link ends without a connection: what happened, what to do, and one button. Rendering only. */
import { type ApiError, errorCatalogue } from '#contract/errors.ts'
import type { Provider } from '#contract/resources.ts'
import { factsOf } from '#providers/all-facts.ts'
import type { LinkingFailure } from '#providers/linking.ts'
import { describeWait } from '../describe-wait.ts'
import { type Html, html } from '../html.ts'
import { leadingButton } from '../layout.ts'

export interface EndPage {
  readonly title: string
  readonly body: Html
}

interface Words {
  readonly heading: string
  readonly text: string
  readonly button: string
}

/** @param back where the button leads. */
function renderEnd({ heading, text, button }: Words, back: string): EndPage {
  const body = html`<article class="card">
<h1>${heading}</h1>
<p>${text}</p>
<p>${leadingButton(back, button)}</p>
</article>`
  return { title: heading, body }
}

const again = 'Try again'
const toList = 'Back to your connections'

/** By the reason of the adapter; `name` is the provider's. */
const words: Readonly<Record<LinkingFailure, (name: string) => Words>> = {
  cancelled: (name) => ({
    heading: 'Nothing was linked',
    text: `You left the page of ${name}, or said no there. Nothing is shared, and nothing has changed here.`,
    button: again,
  }),
  expired: (name) => ({
    heading: 'The page was open too long',
    text: `${name} keeps its page open for a short time only, and it can be used once. Start again; nothing has changed here.`,
    button: again,
  }),
  sign_in_refused: () => ({
    heading: 'The sign-in was refused',
    text: `The institution did not accept the sign-in or the code. Check that you can sign in there directly, then start again.`,
    button: again,
  }),
  ineligible: () => ({
    heading: 'These accounts cannot be shared',
    text: `The institution says that it does not share these accounts. Some share personal accounts only, or ask the owner to allow it first. Ask the institution, or choose another one.`,
    button: 'Choose another one',
  }),
  key_refused: (name) => ({
    heading: 'Nothing was linked',
    text: `${name} does not accept the key, or shares no account with it, or somebody else is linked with it here. Copy it again at ${name}, then start again.`,
    button: again,
  }),
  different_account: (name) => ({
    heading: 'That was another account',
    text: `What came back belongs to another sign-in, institution or person than this link. Nothing of it was stored here. If it is still open at ${name}, you can end it there. Start again, with the institution that you choose here and the sign-in that you used before.`,
    button: again,
  }),
  too_many: (name) => ({
    heading: 'You have too many connections',
    text: `Nothing was linked. ${errorCatalogue.too_many_connections.message}. What you agreed to may still be open at ${name}: unless you end it there, your next link may bring it too.`,
    button: toList,
  }),
  unavailable: (name) => ({
    heading: 'It did not work this time',
    text: `${name} or the institution had a failure, so nothing was linked. Wait a few minutes, then start again.`,
    button: again,
  }),
  interrupted: (name) => ({
    heading: 'Linking was interrupted',
    text: `Nothing was linked: this server did not read to its end what came back from ${name}. Start again, and agree at ${name} once more.`,
    button: again,
  }),
  misconfigured: (name) => ({
    heading: `${name} refuses this server`,
    text: `${name} does not accept the access of this installation. Only the operator can fix this: tell them that ${name} refuses it.`,
    button: toList,
  }),
}

interface Failed {
  readonly reason: LinkingFailure
  readonly provider: Provider
  /** The provider's, for people. */
  readonly name: string
}

/** @param places where to try again, and the list of connections. */
export function renderFailed(
  { reason, provider, name }: Failed,
  places: { readonly again: string; readonly list: string },
): EndPage {
  const { whenIneligible } = factsOf(provider)
  if (reason === 'ineligible' && whenIneligible !== undefined) {
    const heading = 'These accounts are not linked there yet'
    return renderEnd({ heading, text: whenIneligible, button: again }, places.again)
  }
  const given = words[reason](name)
  return renderEnd(given, given.button === toList ? places.list : places.again)
}

/** An application that the person brought themselves. */
export function renderOwnRefused(
  { name, returnUrl }: { readonly name: string; readonly returnUrl: string },
  back: string,
): EndPage {
  const text = `${name} does not accept the application that you brought. Look there whether it is active, and whether it has exactly this redirect URL: ${returnUrl}. Then try again. If the application was deleted or has another key now, enter the new one here.`
  return renderEnd({ heading: `${name} refuses your application`, text, button: again }, back)
}

const states = {
  unknown: {
    heading: 'This link is not known here',
    text: 'The address does not belong to anything that you began here. It may be old or incomplete. Nothing has changed.',
  },
  expired: {
    heading: 'This took more than an hour',
    text: 'What you began here is kept for an hour. Nothing was linked; start again.',
  },
  other_session: {
    heading: 'This was begun in another browser',
    text: 'You began in another browser. For your safety it ends only where it began. Nothing was linked; start again here.',
  },
} as const

/** A state that cannot be used. */
export function renderUnusable(kind: keyof typeof states, back: string): EndPage {
  return renderEnd({ ...states[kind], button: 'Start again' }, back)
}

interface Refused {
  readonly error: Pick<ApiError, 'entry' | 'message' | 'retryAfterSeconds'>
  readonly name: string
  readonly back: string
}

/** The provider's page could not be opened. */
export function renderRefused({ error, name, back }: Refused): EndPage {
  if (error.entry === 'rate_limited') {
    const text = `${error.message}. Nothing is lost.`
    return renderEnd({ heading: 'Too many at once', text, button: 'Back' }, back)
  }
  if (error.entry === 'too_many_connections') {
    return renderEnd({ ...words.too_many(name), button: 'Back' }, back)
  }
  if (error.entry === 'upstream_bad_request') {
    const text = `${name} did not open its page for this request. Choose again; when it happens once more, tell the operator of this server.`
    return renderEnd({ heading: `${name} said no`, text, button: 'Back' }, back)
  }
  const text = `${name} does not answer properly at the moment, so nothing was begun. Try again ${describeWait(error)}.`
  return renderEnd({ heading: `${name} cannot be reached`, text, button: again }, back)
}

/** The request waited too long for an earlier one: the provider was never asked. */
export function renderBusy({ error, name, back }: Refused): EndPage {
  const text = `An earlier link or removal at ${name} is still in progress, so nothing was begun. Try again ${describeWait(error)}.`
  return renderEnd({ heading: `${name} is still busy`, text, button: again }, back)
}

export interface WaitingOptions {
  readonly name: string
  /** The provider cannot be read now; otherwise the consent or its accounts have not arrived. */
  readonly isUnread: boolean
  readonly path: string
  readonly formToken: Html
  /** The page reloads by itself. */
  readonly isWatching: boolean
}

/** The person agreed, or gave a key, and the accounts are not there yet. */
export function renderUnfinished({
  name,
  isUnread,
  path,
  formToken,
  isWatching,
}: WaitingOptions): EndPage {
  const title = isUnread ? `Consent saved, waiting for ${name}` : 'Your accounts are on their way'
  const text = isUnread
    ? `You agreed, and that is kept. ${name} cannot be read at the moment; nothing is lost.`
    : `${name} is fetching your accounts, which takes seconds to a few minutes.`
  const watching = isWatching
    ? 'This page looks again by itself. You may also close it.'
    : 'Look again now, or come back later.'
  const body = html`<article class="card">
<h1>${title}</h1>
<p role="status">${text} ${watching}</p>
<form method="post" action="${path}">${formToken}
<button type="submit">Check again</button></form>
</article>`
  return { title, body }
}
