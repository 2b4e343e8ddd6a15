/**
 * The list of API keys, the form for a new one, and the confirmations before one is revoked or gets a new
 * secret. Rendering only.
 */
import { type KeyStatus, toKeyStatus } from '#auth/keys.ts'
import { makeOnce } from '#auth/sign-in/repeated-form.ts'
import type { KeyRow } from '#store/ports/keys.ts'
import { formUnderWay } from '../done-notes.ts'
import { foreignText, type Html, html } from '../html.ts'
import { alertBox, doneBox, field, hidden, leadingButton } from '../layout.ts'
import { renderAgo, renderDayAt, renderMoment } from '../moments.ts'
import { renderQuestion } from '../question.ts'
import { table } from '../table.ts'
import {
  describeLimits,
  type LimitChoices,
  type limitNames,
  renderLimitFields,
  type TypedLimits,
} from './limits.ts'

/** The values of the form as typed, and what is wrong with them. */
export interface KeyDraft extends TypedLimits {
  readonly name: string
  readonly expires: string
  readonly problems: Readonly<
    Partial<Record<'name' | 'expires' | (typeof limitNames)[number], string>>
  >
  readonly message: string | null
}

export const keysDone = {
  revoked: 'The key is revoked. It is refused from now on.',
  gone: 'That key is not active: it has expired, was revoked, or the address is wrong.',
  repeated:
    'That form was sent twice, and only the first one counted. A key that you did not see can be revoked.',
  under_way: formUnderWay,
} as const

export interface KeysOptions extends LimitChoices {
  readonly keys: readonly KeyRow[]
  readonly now: number
  /** IANA name of the person's zone. */
  readonly zone: string
  readonly formToken: string
  readonly draft: KeyDraft
  /** The password was given in the last ten minutes: only then the form is shown. */
  readonly mayCreate: boolean
  /** The plan has API access; without it every key is refused. */
  readonly mayRead: boolean
  /** A key that was created just now; shown this once. */
  readonly created: { readonly name: string; readonly key: string; readonly url: string } | null
  readonly done: keyof typeof keysDone | null
}

export function renderKeys(options: KeysOptions): Html {
  const { keys, created } = options
  const active = keys.filter((key) => toKeyStatus(key, options.now) === 'active')
  const ended = keys.filter((key) => toKeyStatus(key, options.now) !== 'active')
  return html`<h1>API keys</h1>
${created !== null && renderCreated(created)}
${doneBox(options.done && keysDone[options.done])}
<p>A program that sends one of these keys can read your accounts. No key can change or pay anything. Budget programs that read SimpleFIN take a <a href="/simplefin/create">setup token</a> in place of a key.</p>
${!options.mayRead && html`<p class="alert">Your plan does not include access for programs, so keys are refused until the operator of this server changes it.</p>`}
${active.length === 0 ? html`<p>You have no active key.</p>` : renderTable('Active keys', active, options)}
${renderNew(options)}
${ended.length > 0 && html`<h2>Former keys</h2>${renderTable('Former keys', ended.slice(0, formerShown), options)}`}
${ended.length > formerShown && html`<p><small>Older ones are not shown.</small></p>`}`
}

function renderCreated({ name, key, url }: NonNullable<KeysOptions['created']>): Html {
  return html`<section class="card once" aria-labelledby="created">
<h2 id="created">Your new key</h2>
<p>The key of <span class="foreign">${foreignText(name)}</span> is shown this once. Keep it now: it cannot be shown again.</p>
<p><output name="secret" data-copy="the key">${key}</output></p>
<p>Try it:</p>
<pre><code data-copy="the command">curl -s -H 'Authorization: Bearer ${key}' '${url}'</code></pre>
</section>`
}

function renderNew({ draft, formToken, mayCreate, connections, accounts }: KeysOptions): Html {
  if (!mayCreate) {
    return html`<h2>New key</h2>
<p><a href="/sign-in?return=%2Fkeys">Confirm your password</a> to create a key.</p>`
  }
  return html`<h2>New key</h2>
${alertBox(draft.message, { hasFocus: true })}
<form method="post" action="/keys" novalidate class="narrow">
${hidden('token', formToken)}${hidden('once', makeOnce())}
${field({ name: 'name', label: 'Name', type: 'text', autocomplete: 'off', value: draft.name, hint: 'What the key is for, e.g. “budget on the laptop”', problem: draft.problems.name })}
${field({ name: 'expires', label: 'Last day', type: 'date', autocomplete: 'off', value: draft.expires, isOptional: true, hint: 'The key is refused after this day. Empty: it does not expire', problem: draft.problems.expires })}
${renderLimitFields({ typed: draft, problems: draft.problems, connections, accounts })}
<button type="submit">Create key</button>
</form>`
}

/** A page stays small, whatever was revoked. */
const formerShown = 50

function renderTable(label: string, keys: readonly KeyRow[], options: KeysOptions): Html {
  const { now, zone } = options
  return table<KeyRow>(
    label,
    [
      {
        name: 'Key',
        show: ({ name, prefix }) =>
          html`<span class="foreign">${foreignText(name)}</span> <small class="place"><code>${prefix}…</code></small>`,
      },
      {
        name: 'Sees',
        show: (key) => describeLimits(key, options),
      },
      { name: 'Created', show: ({ createdAt }) => renderMoment(createdAt, zone) },
      {
        name: 'Last used',
        show: ({ lastUsedAt }) =>
          lastUsedAt === null ? 'never' : renderAgo(lastUsedAt, zone, now),
      },
      {
        name: 'Expires',
        show: ({ expiresAt, formerUntil }) =>
          html`${renderEndDay(expiresAt, zone)}${formerUntil !== null && formerUntil > now && html` <small class="place">Its former secret: ${renderMoment(formerUntil, zone)}</small>`}`,
      },
      { name: 'Change', isPlain: true, show: (key) => renderEnd(key, toKeyStatus(key, now), zone) },
    ],
    keys,
  )
}

/** The last instant that counts: an expiry at midnight is shown as the end of the day before. */
function renderEndDay(expiresAt: number | null, zone: string) {
  return expiresAt === null ? 'never' : html`end of ${renderDayAt(expiresAt - 1, zone)}`
}

function renderEnd(key: KeyRow, status: KeyStatus, zone: string): Html {
  const { id, name, revokedAt } = key
  if (status === 'expired') return html`expired`
  if (status === 'revoked')
    return html`revoked ${revokedAt !== null && renderMoment(revokedAt, zone)}`
  const revoke = leadingButton(`/keys/${id}/revoke`, 'Revoke', {
    look: 'outline danger',
    label: `Revoke ${foreignText(name)}`,
  })
  const rotate = leadingButton(`/keys/${id}/rotate`, 'New secret', {
    look: 'outline secondary',
    label: `New secret for ${foreignText(name)}`,
  })
  return html`${rotate} ${revoke}`
}

export function renderRevokeKey(key: KeyRow, formToken: string): Html {
  return renderQuestion({
    heading: 'Revoke this key?',
    sentences: html`<p>Programs that send <span class="foreign">${foreignText(key.name)}</span> (<code>${key.prefix}…</code>) are refused at once. This cannot be undone; a new key can be created at any time.</p>`,
    path: `/keys/${key.id}/revoke`,
    formToken,
    confirm: 'Revoke the key',
    keep: 'Keep it',
  })
}

const overlaps = [
  [0, 'not at all: it is refused at once'],
  [1, 'for an hour'],
  [24, 'for a day'],
  [168, 'for a week'],
  [720, 'for 30 days'],
] as const

export function renderRotateKey(key: KeyRow, formToken: string): Html {
  return renderQuestion({
    heading: 'Create a new secret for this key?',
    sentences: html`<p><span class="foreign">${foreignText(key.name)}</span> (<code>${key.prefix}…</code>) keeps its name, limits and last day. The new secret is shown once.</p>`,
    path: `/keys/${key.id}/rotate`,
    formToken,
    fields: html`${hidden('once', makeOnce())}<div class="field">
<label for="overlapHours">The current secret stays good</label>
<select id="overlapHours" name="overlapHours">${overlaps.map(([hours, words]) => html`<option value="${hours}"${hours === 24 && html` selected`}>${words}</option>`)}</select>
</div>`,
    confirm: 'Create new secret',
    keep: 'Cancel',
  })
}
