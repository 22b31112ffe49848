in vec2 p;
flat in vec4 box, inside, edge, line;
flat in vec3 form, lines;

// How much of the pixel one of the lines covers; `at`: along an axis, a line at each multiple of lines.x.
float lined(float at) {
    float off = abs(at - floor(at / lines.x + 0.5) * lines.x) * 0.70710678;
    return covered(off - lines.y * 0.5);
}

void main() {
    float cover = covered(outside(p, box, form.x));
    colour = over(inside, cover, vec4(0.0));
    colour = over(line, cover * lined(p.x + p.y - 1.0), colour);
    colour = over(line, cover * lines.z * lined(p.x - p.y), colour);
    vec4 path = box + vec4(form.zz, -form.zz);
    colour = over(edge, covered(abs(outside(p, path, form.x)) - form.y * 0.5), colour);
}
