/**
 * Programs that read SimpleFIN: the form for a setup token, the token once, the list, and the question before
 * one ends. Rendering only.
 */
import { makeOnce } from '#auth/sign-in/repeated-form.ts'
import type { AccountRow } from '#store/ports/accounts.ts'
import type { ConnectionRow } from '#store/ports/connections.ts'
import type { ProgramRow } from '#store/ports/programs.ts'
import { renderNamed, summarizeHeld } from '../connections/named.ts'
import { formUnderWay } from '../done-notes.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, doneBox, field, hidden, leadingButton } from '../layout.ts'
import { renderAgo, renderMoment } from '../moments.ts'
import { renderQuestion } from '../question.ts'
import { table } from '../table.ts'

export const path = '/simplefin/create'

/** The values of the form as typed, and what is wrong with them. */
export interface ProgramDraft {
  readonly name: string
  /** Null: all of them. */
  readonly connections: readonly string[] | null
  readonly problems: Readonly<Partial<Record<'name' | 'connections', string>>>
  readonly message: string | null
}

export const programsDone = {
  ended: 'The access is ended. The program is refused from now on.',
  gone: 'That program has no access: it was ended before, or the address is wrong.',
  repeated:
    'That form was sent twice, and only the first one counted. A setup token that you did not see can be ended.',
  under_way: formUnderWay,
} as const

export interface ProgramsOptions {
  readonly programs: readonly ProgramRow[]
  readonly connections: readonly ConnectionRow[]
  /** The accounts of all connections. */
  readonly accounts: readonly AccountRow[]
  readonly now: number
  /** IANA name of the person's zone. */
  readonly zone: string
  readonly formToken: string
  readonly draft: ProgramDraft
  /** The password was given in the last ten minutes: only then the form is shown. */
  readonly mayCreate: boolean
  /** The plan has API access; without it every program is refused. */
  readonly mayRead: boolean
  /** A setup token that was made just now; shown this once. */
  readonly created: { readonly name: string; readonly token: string } | null
  readonly done: keyof typeof programsDone | null
}

export function renderPrograms(options: ProgramsOptions): Html {
  const { created, programs } = options
  return html`<h1>Programs that read SimpleFIN</h1>
${created !== null && renderCreated(created)}
${doneBox(options.done && programsDone[options.done])}
<p>Budget programs such as Actual Budget, Sure and Firefly III, and Home Assistant read your balances and transactions with a setup token. They can change and pay nothing.</p>
${!options.mayRead && html`<p class="alert">Your plan does not include access for programs, so they are refused until the operator of this server changes it.</p>`}
${programs.length === 0 ? html`<p>No program has access.</p>` : renderTable(options)}
${renderNew(options)}`
}

function renderCreated({ name, token }: NonNullable<ProgramsOptions['created']>): Html {
  return html`<section class="card once" aria-labelledby="created">
<h2 id="created">Your setup token</h2>
<p>The token for <span class="foreign">${foreignText(name)}</span> is shown this once. Paste it into the program: it can be used once, and ends after a day.</p>
<p><output name="secret" data-copy="the token">${token}</output></p>
</section>`
}

function renderNew(options: ProgramsOptions): Html {
  const { draft, formToken, mayCreate, connections, accounts } = options
  if (!mayCreate) {
    return html`<h2>New setup token</h2>
<p><a href="/sign-in?return=%2Fsimplefin%2Fcreate">Confirm your password</a> to create a setup token.</p>`
  }
  const accountsOf = summarizeHeld(accounts)
  const isChosen = (id: string) => draft.connections === null || draft.connections.includes(id)
  return html`<h2>New setup token</h2>
${alertBox(draft.message, { hasFocus: true })}
<form method="post" action="${path}" novalidate class="narrow">
${hidden('token', formToken)}${hidden('once', makeOnce())}
${field({ name: 'name', label: 'Program', type: 'text', autocomplete: 'off', value: draft.name, hint: 'Which program it is for, e.g. “Actual Budget”', problem: draft.problems.name })}
${
  connections.length > 0 &&
  html`<fieldset${draft.problems.connections !== undefined && html` aria-describedby="connections-problem"`}>
<legend>What it may see</legend>
${connections.map((row) => html`<label><input type="checkbox" name="connection" value="${row.id}"${isChosen(row.id) && html` checked`}>${renderNamed(row, accountsOf(row))}</label>`)}
${draft.problems.connections !== undefined && html`<p id="connections-problem" class="problem">${draft.problems.connections}</p>`}
<small>With all of them chosen it also sees what you link later.</small>
</fieldset>`
}
<button type="submit">Create setup token</button>
</form>`
}

function renderTable({ programs, connections, now, zone }: ProgramsOptions): Html {
  const names = new Map(connections.map((row) => [row.id, row.label ?? row.institutionName]))
  const showSeen = ({ connections: ids }: ProgramRow) => {
    if (ids === null) return 'everything'
    const seen = ids.flatMap((id) => names.get(id) ?? [])
    if (seen.length === 0) return 'nothing: what was chosen is gone'
    return html`<span class="foreign">${foreignText(seen.join(', '))}</span>`
  }
  return table<ProgramRow>(
    'Programs',
    [
      {
        name: 'Program',
        show: ({ name, repeatedAt }) =>
          html`<span class="foreign">${foreignText(name)}</span>${repeatedAt !== null && html` <strong class="place">Its setup token was presented again ${renderMoment(repeatedAt, zone)}: if that was not you, end its access.</strong>`}`,
      },
      { name: 'Sees', show: showSeen },
      { name: 'Created', show: ({ createdAt }) => renderMoment(createdAt, zone) },
      {
        name: 'Last used',
        show: ({ lastUsedAt }) =>
          lastUsedAt === null ? 'never' : renderAgo(lastUsedAt, zone, now),
      },
      { name: 'End', isPlain: true, show: (row) => renderEnd(row, now, zone) },
    ],
    programs,
  )
}

function renderEnd(
  { id, name, revokedAt, claimedAt, setupUntil }: ProgramRow,
  now: number,
  zone: string,
): Html {
  if (revokedAt !== null) return html`ended ${renderMoment(revokedAt, zone)}`
  if (claimedAt === null && setupUntil <= now) return html`never used`
  return leadingButton(`/simplefin/programs/${id}/revoke`, 'End access', {
    look: 'outline danger',
    label: `End access of ${foreignText(name)}`,
  })
}

/** The question before a program loses its access. */
export function renderEndAccess({ id, name }: ProgramRow, formToken: string): Html {
  return renderQuestion({
    heading: 'End this program’s access?',
    sentences: html`<p><span class="foreign">${foreignText(name)}</span> is refused at once. To give it access again, create a new setup token.</p>`,
    path: `/simplefin/programs/${id}/revoke`,
    formToken,
    confirm: 'End its access',
    keep: 'Keep it',
  })
}
