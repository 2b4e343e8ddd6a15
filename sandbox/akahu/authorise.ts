/**
 * The authorisation page of the Akahu emulator (`oauthUrl`): whether the request for consent is right, what
 * the person decides, and where the browser goes. A person is known by the e-mail address that is typed; an
 * address that is new makes a new person.
 */
import { hash } from 'node:crypto'
import type { Clock } from '#kernel/time.ts'
import {
  carry,
  choose,
  decide,
  isReturnAddress,
  leaveTo,
  type Markup,
  markup,
  others,
  showEnd,
  showPage,
  tick,
} from '../consent-page.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import type { AkahuApp } from './auth.ts'
import type { AkahuPeople } from './demo.ts'
import { closedInstitutions, institutions, person as makePerson } from './factories.ts'
import { giveConsent } from './give-consent.ts'
import type { AkahuInstitution, AkahuPerson } from './people.ts'
import { digest } from './rows.ts'
import type { TokenExchange } from './tokens.ts'
import type { AkahuWebhooks } from './webhooks.ts'

export interface AuthorisationSite {
  readonly app: AkahuApp
  readonly people: AkahuPeople
  readonly tokens: TokenExchange
  readonly clock: Clock
  readonly webhooks: AkahuWebhooks
  readonly seed: string
}

export const authorisationPath = '/authorize'

/** What the app asks for, once it is known to be right. */
interface Asked {
  readonly redirectUri: string
  readonly state: string | null
  readonly email: string
  /** Null: the person chooses. */
  readonly bank: AkahuInstitution | null
  /** As it came, for the form. */
  readonly query: Readonly<Record<string, string>>
}

const names = [
  'response_type',
  'client_id',
  'redirect_uri',
  'scope',
  'state',
  'email',
  'connection',
] as const
/** A sandbox has few people; beyond this number nobody new is made. */
const maxPeople = 500

/** `GET` shows the page, `POST` decides. */
export function answerAuthorisation(
  request: EmulatorRequest,
  site: AuthorisationSite,
): EmulatorReply {
  if (request.method === 'GET') {
    const asked = readAsked(request.query, site)
    return 'status' in asked ? asked : showForm(asked, null)
  }
  if (request.method !== 'POST') return showEnd('Akahu', 'Not found', 'There is no such page.')
  const form = new URLSearchParams(request.body)
  const asked = readAsked(form, site)
  return 'status' in asked ? asked : answerDecision(asked, form, site)
}

/** As OAuth has it: nobody is sent to an address that is not the app's (RFC 6749 §4.1.2.1). */
function readAsked(query: URLSearchParams, { app }: AuthorisationSite): Asked | EmulatorReply {
  const twice = names.find((name) => query.getAll(name).length > 1)
  if (twice !== undefined)
    return showEnd('Akahu', 'This request is not right', `${twice} is sent twice.`)
  if (query.get('client_id') !== app.appToken) {
    return showEnd('Akahu', 'This app is not known', 'The client_id is no app of this sandbox.')
  }
  const redirectUri = query.get('redirect_uri')
  if (!isReturnAddress(redirectUri) || new URL(redirectUri).search !== '') {
    const text =
      'The redirect_uri must be an https address, or one of this machine, without a query.'
    return showEnd('Akahu', 'This address is not registered', text)
  }
  const state = query.get('state')
  const refuse = (error: string) =>
    leaveTo(redirectUri, { error, ...(state === null ? {} : { state }) })
  if (query.get('response_type') !== 'code') return refuse('unsupported_response_type')
  if (query.get('scope') !== 'ENDURING_CONSENT') return refuse('invalid_scope')
  const wanted = query.get('connection')
  const bank = Object.values(institutions).find(({ _id }) => _id === wanted) ?? null
  if (wanted !== null && bank === null) return refuse('invalid_request')
  const fields = names.flatMap((name) => {
    const value = query.get(name)
    return value === null || name === 'email' ? [] : [[name, value] as const]
  })
  const email = (query.get('email') ?? '').trim().toLowerCase()
  return { redirectUri, state, email, bank, query: Object.fromEntries(fields) }
}

function answerDecision(
  asked: Asked,
  form: URLSearchParams,
  site: AuthorisationSite,
): EmulatorReply {
  const leave = (added: Readonly<Record<string, string>>) =>
    leaveTo(asked.redirectUri, {
      ...added,
      ...(asked.state === null ? {} : { state: asked.state }),
    })
  const decision = form.get('decision') ?? ''
  const error = errors[decision]
  if (error !== undefined) return leave({ error })
  if (decision === 'wrong-password') {
    return showForm(asked, 'The bank refused this sign-in. Try again, or leave with “Deny”.')
  }
  if (decision !== 'allow' && decision !== 'late') return showForm(asked, 'Choose what happens.')
  const bank = asked.bank ?? Object.values(institutions).find(({ _id }) => _id === form.get('bank'))
  if (bank === undefined) return showForm(asked, 'Choose a bank.')
  if (!/^[^\s@]{1,64}@[^\s@]{1,190}$/.test(asked.email)) {
    return showForm(asked, 'Type an e-mail address, for example me@example.com.')
  }
  const person = findOrMake(asked.email, site)
  if (person === null) return showForm(asked, 'This sandbox has too many people. Restart it.')
  giveConsent({ person, bank, hasNewIds: form.get('new-ids') === 'on' }, site)
  if (person.userToken === null || form.get('new-token') === 'on') renewToken(person, site)
  const lifeMs = decision === 'late' ? 0 : undefined
  return leave({ code: site.tokens.issue(person, asked.redirectUri, lifeMs) })
}

const errors: Readonly<Record<string, string | undefined>> = {
  deny: 'access_denied',
  'bank-down': 'temporarily_unavailable',
  'akahu-down': 'server_error',
}

function findOrMake(email: string, { people, clock }: AuthorisationSite): AkahuPerson | null {
  const known = Object.values(people).find(({ user }) => user.email === email)
  if (known !== undefined) return known
  if (Object.keys(people).length >= maxPeople) return null
  const name = `new${hash('sha256', email).slice(0, 21)}`
  const made = makePerson(name, email.split('@')[0] ?? email, { clock, makeAccounts: () => [] })
  made.user.email = email
  people[name] = made
  return made
}

/** The former token is refused from now on. */
function renewToken(person: AkahuPerson, { clock }: AuthorisationSite): void {
  person.userToken = `user_token_${digest(`${person.userToken}|${person.user._id}|${clock.now()}`)}`
}

function showForm({ email, bank, query }: Asked, problem: string | null): EmulatorReply {
  const banks = Object.values(institutions)
    .filter(({ _id }) => !closedInstitutions.has(_id))
    .map(({ _id, name }) => ({ value: _id, label: name }))
  const content: Markup = markup`${problem !== null && markup`<p class="alert" role="alert">${problem}</p>`}
<p>Tributary asks to read your accounts, balances and transactions${bank !== null && ` at ${bank.name}`}, until you end it.</p>
<form method="post" action="${authorisationPath}">
${carry(query)}
<label>Your e-mail address at Akahu
<input type="email" name="email" value="${email}" required autocomplete="email"></label>
${bank === null && choose('bank', 'Your bank', banks)}
${decide(
  [
    ['allow', 'Allow'],
    ['deny', 'Deny'],
  ],
  true,
)}
${others(markup`<p class="soft">Each button ends this page in another way; a ticked box changes what “Allow” gives.</p>
${decide([
  ['wrong-password', 'Wrong password at the bank'],
  ['bank-down', 'The bank does not answer'],
  ['akahu-down', 'Akahu fails'],
  ['late', 'Allow, but return too late'],
])}
${tick('new-ids', 'A bank that is linked already gets new ids for its accounts')}
${tick('new-token', 'The person gets a new token, and the former one stops')}`)}
</form>`
  return showPage({ provider: 'Akahu', title: 'Link your bank', content })
}
