/**
 * The page of the Enable Banking emulator that stands for the bank's own: what the person decides, and where
 * the browser goes. Whoever agrees is the bank's one customer.
 */
import {
  carry,
  decide,
  leaveTo,
  type Markup,
  markup,
  others,
  showEnd,
  showPage,
} from '../consent-page.ts'
import type { EmulatorReply, EmulatorRequest } from '../emulator.ts'
import { makeNewPerson } from './demo.ts'
import { findPerson, type Site } from './site.ts'

export const consentPath = '/welcome'
const provider = 'Enable Banking'

/** `GET` shows the page, `POST` decides. */
export function answerConsentPage(request: EmulatorRequest, site: Site): EmulatorReply {
  const form = request.method === 'POST' ? new URLSearchParams(request.body) : request.query
  const id = form.get('authorization') ?? ''
  const asked = site.sessions.authorisations.get(id)
  if (asked === undefined) {
    return showEnd(provider, 'This page is no longer valid', 'Begin again where you came from.')
  }
  if (request.method !== 'POST') return showForm(id, asked.bank, null)
  const leave = (added: Readonly<Record<string, string>>) =>
    leaveTo(asked.redirectUrl, { ...added, state: asked.state })
  const decision = form.get('decision') ?? ''
  const refusal = refusals[decision]
  if (refusal !== undefined) {
    site.sessions.authorisations.delete(id)
    return leave({ error: refusal[0], error_description: refusal[1] })
  }
  if (decision !== 'agree' && decision !== 'late' && decision !== 'hidden') {
    return showForm(id, asked.bank, 'Choose what happens.')
  }
  site.sessions.authorisations.delete(id)
  const person = findPerson(site, asked.bank) ?? makeNewPerson(asked.bank, site.seed, site.clock)
  site.people[person.name] ??= person
  const shown = decision === 'hidden' ? { ...person, accounts: [] } : person
  return leave({ code: site.sessions.issueCode(shown, asked, decision === 'late' ? 0 : undefined) })
}

const refusals: Readonly<Record<string, readonly [string, string] | undefined>> = {
  decline: ['access_denied', 'Denied data sharing consent'],
  'bank-down': ['server_error', 'The bank does not answer'],
}

function showForm(
  authorization: string,
  bank: { readonly name: string; readonly country: string },
  problem: string | null,
): EmulatorReply {
  const content: Markup = markup`${problem !== null && markup`<p class="alert" role="alert">${problem}</p>`}
<p>Tributary asks to read your accounts, balances and transactions at ${bank.name} (${bank.country}). Your bank would ask you to sign in here.</p>
<form method="post" action="${consentPath}">
${carry({ authorization })}
${decide(
  [
    ['agree', 'Agree'],
    ['decline', 'Decline'],
  ],
  true,
)}
${others(
  decide([
    ['bank-down', 'The bank does not answer'],
    ['late', 'Agree, but return too late'],
    ['hidden', 'Agree, but no account is linked in the control panel'],
  ]),
)}
</form>`
  return showPage({ provider, title: 'Share your accounts', content })
}
