/** All users, and one, for operators: nothing of money, and no names of accounts. Rendering only. */
import { factsOf } from '#providers/all-facts.ts'
import { foreignText, type Html, html } from '../html.ts'
import { doneBox, hidden } from '../layout.ts'
import { table } from '../table.ts'
import type { AdminReply, AdminRow } from './api.ts'
import { highlight, renderUtc } from './frame-page.ts'

type Listed = AdminRow<'/users'>
type Details = AdminReply<'GET', '/users/{user}'>
type Connection = AdminRow<'/users/{user}/connections'>
type Endpoint = AdminRow<'/users/{user}/webhooks'>

export function renderUsers(people: readonly Listed[], next: string | null): Html {
  return html`<h1>People</h1>
${people.length === 0 ? html`<p>Nobody has an account yet.</p>` : renderUserTable(people)}
${next !== null && html`<p><a href="/people?cursor=${next}">More</a></p>`}`
}

function renderUserTable(people: readonly Listed[]): Html {
  return table<Listed>(
    'People',
    [
      {
        name: 'Person',
        show: ({ id, email, emailConfirmedAt }) =>
          html`<a href="/people/${id}" class="foreign">${foreignText(email)}</a>${emailConfirmedAt === null && html` <small class="place">address not confirmed</small>`}`,
      },
      { name: 'Plan', show: ({ plan, status }) => `${plan}, ${status}` },
      { name: 'Last seen', show: ({ lastSeenAt }) => renderUtc(lastSeenAt, 'not signed in') },
      {
        name: 'Second factor',
        show: ({ hasSecondFactor }) => (hasSecondFactor ? 'yes' : 'none'),
      },
      {
        name: 'Connections',
        show: ({ connections: { active, broken } }) =>
          html`${active} work${active === 1 && 's'}${broken > 0 && html`, ${highlight(true, `${broken} broken`)}`}`,
      },
    ],
    people,
  )
}

/** How they prove who they are, in words. */
function describeSignIn({ hasPassword, secondFactors, passkeys }: Details): string {
  if (!hasPassword) return 'not at all: no password is set'
  const words = {
    app: 'codes of an app',
    passkey: passkeys === 1 ? 'a passkey' : `${passkeys} passkeys`,
  }
  if (secondFactors.length === 0) return 'with a password alone'
  return `with a password and a second factor: ${secondFactors.map((kind) => words[kind]).join(', ')}`
}

export interface UserOptions {
  readonly person: Details
  readonly connections: readonly Connection[]
  readonly endpoints: readonly Endpoint[]
  readonly sessions: number
  readonly formToken: string
  readonly done: string | null
}

export function renderUser(options: UserOptions): Html {
  const { person, connections, endpoints, sessions, formToken, done } = options
  return html`<p><a href="/people">All people</a></p>
<h1><span class="foreign">${foreignText(person.email)}</span></h1>
${doneBox(done)}
<dl class="facts">
<dt>Plan</dt><dd>${person.plan}, ${person.status}</dd>
<dt>Last seen</dt><dd>${renderUtc(person.lastSeenAt, 'not signed in')}</dd>
<dt>Since</dt><dd>${renderUtc(person.createdAt)}</dd>
<dt>Address</dt><dd>${person.emailConfirmedAt === null ? 'not confirmed' : html`confirmed ${renderUtc(person.emailConfirmedAt)}`}</dd>
<dt>Signs in</dt><dd>${describeSignIn(person)}</dd>
<dt>Browsers</dt><dd>${sessions}</dd>
</dl>
<h2>Connections</h2>
${
  connections.length === 0
    ? html`<p>There are none.</p>`
    : table<Connection>(
        'Connections',
        [
          {
            name: 'Institution',
            show: (one) =>
              html`<span class="foreign">${foreignText(one.institutionName)}</span> <small class="place">by ${factsOf(one.provider).name}</small>`,
          },
          { name: 'Status', show: ({ status }) => highlight(status !== 'active', status) },
          {
            name: 'Last success',
            show: ({ lastSuccessAt }) => renderUtc(lastSuccessAt, 'none'),
          },
          {
            name: 'Last error',
            show: ({ lastErrorAt, lastErrorCode }) =>
              html`${renderUtc(lastErrorAt, 'none')}${lastErrorCode !== null && html` ${lastErrorCode}`}`,
          },
        ],
        connections,
      )
}
<form method="post" action="/people/${person.id}/remind" class="narrow">${hidden('formToken', formToken)}<button type="submit" class="outline">Ask to reconnect</button></form>
<h2>Endpoints</h2>
${
  endpoints.length === 0
    ? html`<p>There are none.</p>`
    : table<Endpoint>(
        'Endpoints',
        [
          { name: 'Endpoint', show: ({ id }) => html`<code>${id}</code>` },
          {
            name: 'Health',
            show: ({ health, failures }) =>
              highlight(
                health !== 'healthy',
                `${health}${failures > 0 ? `, ${failures} failures` : ''}`,
              ),
          },
        ],
        endpoints,
      )
}`
}
