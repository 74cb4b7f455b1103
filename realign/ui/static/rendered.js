// Draws the tree that rendered.py makes of a model's text. It knows a few tags and attributes of its own and makes
// nothing else, whatever it is given: no address is ever fetched, followed or run.
window.realign.tree = (() => {
  const HTML = new Set("p h3 h4 h5 h6 ul ol li blockquote pre code em strong s br hr span table thead tbody tr th td".split(" "));
  const MATH = new Set(
    ("math mrow mi mn mo mtext mspace mstyle msup msub msubsup munder mover munderover mfrac msqrt mroot " +
      "mtable mtr mtd mpadded").split(" "),
  );
  const flag = /^(true|false)$/;
  const size = /^([+-]?([0-3](\.\d{1,4})?|\.\d{1,4})(em|ex)|[+-]?[0-3]p[tx]|0)$/;
  const SHARED = { class: /^r-md-[a-z0-9-]+$/, dir: /^(auto|ltr)$/ };
  const ATTRIBUTES = new Map(Object.entries({ ...SHARED, value: /^\d{1,9}$/ }));
  const MATH_ATTRIBUTES = new Map(
    Object.entries({
      ...SHARED,
      display: /^(block|inline)$/,
      form: /^(prefix|infix|postfix)$/,
      mathvariant: /^normal$/,
      scriptlevel: /^[+-]?\d$/,
      accent: flag,
      displaystyle: flag,
      fence: flag,
      largeop: flag,
      movablelimits: flag,
      separator: flag,
      stretchy: flag,
      depth: size,
      height: size,
      linethickness: size,
      lspace: size,
      maxsize: size,
      minsize: size,
      rspace: size,
      voffset: size,
      width: size,
    }),
  );

  // The children of an element that is not known are shown without it.
  const put = (parent, nodes) => {
    for (const node of Array.isArray(nodes) ? nodes : []) {
      if (typeof node === "string") {
        parent.append(document.createTextNode(node));
        continue;
      }
      if (!Array.isArray(node)) continue;
      const [tag, attributes, children] = node;
      const math = MATH.has(tag);
      if (!math && !HTML.has(tag)) {
        put(parent, children);
        continue;
      }
      const element = math ? document.createElementNS("http://www.w3.org/1998/Math/MathML", tag) : document.createElement(tag);
      for (const [name, value] of Object.entries(attributes || {})) {
        if ((math ? MATH_ATTRIBUTES : ATTRIBUTES).get(name)?.test(value)) element.setAttribute(name, value);
      }
      put(element, children);
      parent.append(element);
    }
  };

  return (nodes) => {
    const fragment = document.createDocumentFragment();
    put(fragment, nodes);
    return fragment;
  };
})();
