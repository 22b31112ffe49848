in vec2 p;
flat in vec4 box, inside, edge;
flat in vec3 form;

void main() {
    colour = over(inside, covered(outside(p, box, form.x)), vec4(0.0));
    vec4 path = box + vec4(form.zz, -form.zz);
    colour = over(edge, covered(abs(outside(p, path, form.x)) - form.y * 0.5), colour);
}
