/* Small conveniences. Pages work without this script. */

/* A button that copies, after each element with the attribute data-copy. */
for (const source of document.querySelectorAll('[data-copy]')) {
  const button = document.createElement('button')
  const what = source.getAttribute('data-copy')
  const say = (word) => {
    button.textContent = word
    button.setAttribute('aria-label', `${word} ${what}`)
  }
  button.type = 'button'
  button.className = 'secondary outline copy'
  button.setAttribute('aria-live', 'polite')
  say('Copy')
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent)
      say('Copied')
    } catch {
      // Without the permission to write, the text is selected, so that the person can copy it.
      getSelection().selectAllChildren(source)
      say('Selected')
    }
    setTimeout(() => say('Copy'), 4000)
  })
  source.after(button)
}

/* Where the sections do not fit, the current one is in sight. */
document
  .querySelector('.sections [aria-current]')
  ?.scrollIntoView({ block: 'nearest', inline: 'center' })

/* Fields that are filled in by the browser's own time zone. */
for (const field of document.querySelectorAll('input[data-fill="timezone"]')) {
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? ''
}

/* An open menu closes with Escape, and when the focus or a click goes elsewhere. */
for (const menu of document.querySelectorAll('details.menu')) {
  const close = () => menu.removeAttribute('open')
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    close()
    menu.querySelector('summary').focus()
  })
  document.addEventListener('click', (event) => {
    if (!menu.contains(event.target)) close()
  })
  menu.addEventListener('focusout', (event) => {
    if (event.relatedTarget !== null && !menu.contains(event.relatedTarget)) close()
  })
}

/*
 * Passkeys, where the browser has them: its own dialogue gives the answer, which goes into the form as text.
 */
const toBytes = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (one) => one.charCodeAt(0))
const toText = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const withBytes = (list) => (list ?? []).map((one) => ({ ...one, id: toBytes(one.id) }))

const ask = async (kind, request) => {
  const publicKey = { ...request, challenge: toBytes(request.challenge) }
  if (kind === 'get') publicKey.allowCredentials = withBytes(request.allowCredentials)
  else {
    publicKey.excludeCredentials = withBytes(request.excludeCredentials)
    publicKey.user = { ...request.user, id: toBytes(request.user.id) }
  }
  const { rawId, response } = await navigator.credentials[kind]({ publicKey })
  const parts = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature']
  const given = [...parts, 'userHandle'].filter((name) => response[name])
  return JSON.stringify({
    id: toText(rawId),
    response: {
      ...Object.fromEntries(given.map((name) => [name, toText(response[name])])),
      transports: response.getTransports?.(),
    },
  })
}

const say = (form, error) => {
  const words = {
    InvalidStateError: 'This device has a passkey of this account already.',
    SecurityError: 'Passkeys do not work at this address.',
  }
  const note = form.querySelector('[role="alert"]') ?? document.createElement('p')
  note.className = 'alert'
  note.setAttribute('role', 'alert')
  note.textContent = words[error.name] ?? 'Nothing was given. Try again when you are ready.'
  form.prepend(note)
}

const build = (place) => {
  const form = document.createElement('form')
  form.method = 'post'
  form.action = place.dataset.path
  const fields = { ...JSON.parse(place.dataset.fields), credential: '' }
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement('input')
    input.type = 'hidden'
    input.name = name
    input.value = value
    form.append(input)
  }
  const button = document.createElement('button')
  button.className = place.dataset.look
  button.textContent = place.dataset.label
  form.append(button)
  place.append(form)
  return form
}

const canGive = 'PublicKeyCredential' in globalThis && navigator.credentials
for (const place of canGive ? document.querySelectorAll('[data-passkey]') : []) {
  const form = place.dataset.passkey === 'get' ? build(place) : place
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    try {
      form.elements.credential.value = await ask(
        place.dataset.passkey,
        JSON.parse(place.dataset.request),
      )
      form.submit()
    } catch (error) {
      say(form, error)
    }
  })
}
